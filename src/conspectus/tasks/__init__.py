"""The language tasks: everything that a method needs language for, and the types of the replies.

A task carries rows and strings, never a rendered prompt, and its type names its reply: the reply to a `Task[Graph]` is
a `Graph`. A model that performs a task (see `models`) returns references in texts as row numbers of the index's tables.
The sources of the tasks are the appendices of *From Local to Global* (GraphRAG).
"""

from conspectus.tasks.answering import *  # noqa: F403  # every task and reply of it
from conspectus.tasks.base import Task as Task, Turn as Turn
from conspectus.tasks.evaluating import *  # noqa: F403  # every task and reply of it
from conspectus.tasks.indexing import *  # noqa: F403  # every task and reply of it
