"""A model that needs no language model: it extracts, where others write.

One file for each kind of task; `model` dispatches on the task's type.
"""
