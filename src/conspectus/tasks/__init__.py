"""The language tasks: everything that a method needs language for, and the replies that come back.

A task carries rows and strings, never a rendered prompt, and its type names its reply: `Task[Graph]` is answered by
a `Graph`. Whoever performs a task (see `models`) returns references in texts as numbers of the index's tables.
The sources of the tasks are the appendices of *From Local to Global* (GraphRAG).
"""

from conspectus.tasks.answering import (
    SHORT as SHORT,
    AnswerFromContext as AnswerFromContext,
    Exchange as Exchange,
    FollowUp as FollowUp,
    MapAnswer as MapAnswer,
    PartialAnswer as PartialAnswer,
    PrimeAnswer as PrimeAnswer,
    Probe as Probe,
    PursueFollowUp as PursueFollowUp,
    Rated as Rated,
    RatePassages as RatePassages,
    RateReport as RateReport,
    ReduceAnswer as ReduceAnswer,
    StandaloneQuestion as StandaloneQuestion,
    is_short as is_short,
)
from conspectus.tasks.base import Task as Task, Turn as Turn
from conspectus.tasks.evaluating import (
    ClearSentences as ClearSentences,
    Criterion as Criterion,
    Entails as Entails,
    FactualClaims as FactualClaims,
    GlobalQuestions as GlobalQuestions,
    Judge as Judge,
    Numbered as Numbered,
    Persona as Persona,
    Personas as Personas,
    SelectFactual as SelectFactual,
    UserTasks as UserTasks,
    Verdict as Verdict,
)
from conspectus.tasks.indexing import (
    AnyMissed as AnyMissed,
    DescribeElement as DescribeElement,
    Description as Description,
    ExtractClaims as ExtractClaims,
    ExtractGraph as ExtractGraph,
    Extraction as Extraction,
    ExtractTriples as ExtractTriples,
    FoundClaim as FoundClaim,
    FoundEntity as FoundEntity,
    FoundRelationship as FoundRelationship,
    FoundTriple as FoundTriple,
    GleanMore as GleanMore,
    NameEntities as NameEntities,
    Profile as Profile,
    ProfileCorpus as ProfileCorpus,
    ReportDraft as ReportDraft,
    WritePropositions as WritePropositions,
    WriteReport as WriteReport,
)
from conspectus.tasks.answering import (
    ChooseRelations as ChooseRelations,
    Draft as Draft,
    DraftAnswer as DraftAnswer,
    Edge as Edge,
    Examined as Examined,
    ExamineEvidence as ExamineEvidence,
    NextThought as NextThought,
    Topic as Topic,
)
