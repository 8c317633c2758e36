"""The language tasks: everything that a method needs language for, and the replies that come back.

A task carries rows and strings, never a rendered prompt, and its type names its reply: `Task[Graph]` is answered by
a `Graph`. Whoever performs a task (see `models`) returns references in texts as numbers of the index's tables.
The sources of the tasks are the appendices of *From Local to Global* (GraphRAG).
"""

from conspectus.tasks.answering import *  # noqa: F403  # every task and reply of it
from conspectus.tasks.base import Task as Task, Turn as Turn
from conspectus.tasks.evaluating import *  # noqa: F403  # every task and reply of it
from conspectus.tasks.indexing import *  # noqa: F403  # every task and reply of it
