from __future__ import annotations
def backup(database, target, progress): raise NotImplementedError
def export(database, target): raise NotImplementedError
def free_name(folder, stem): raise NotImplementedError
