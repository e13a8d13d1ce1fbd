"""MindQL: the FIND language of the thought store, parsed with lark and compiled to the kernel's `Query`."""
