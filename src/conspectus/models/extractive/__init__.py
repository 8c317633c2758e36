"""The extractive model: it needs no language model, and selects sentences where other models write text.

One file for each kind of task; `model` dispatches on the task's type.
"""
