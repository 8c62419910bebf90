import type { z } from 'zod';
import type { Artifact } from './shapes/artifact.ts';
import type { AuditEntry } from './shapes/audit.ts';
import type { Cluster, ClusterNode } from './shapes/cluster.ts';
import type { Credential } from './shapes/credential.ts';
import type { Event } from './shapes/event.ts';
import type { RunGraph, RunGraphNode, RunGraphStates } from './shapes/graph-run.ts';
import type { Limit, LimitDetail } from './shapes/limit.ts';
import type { Pool, PoolChecked, PoolDecision, PoolDetail, PoolTicket } from './shapes/pool.ts';
import type { Purged, Queue, Retried } from './shapes/queue.ts';
import type { UpgradeEdit, UpgradePolicy, UpgradeStatus } from './shapes/release.ts';
import type { Run, RunCheck, RunDetail, RunStep, RunStepDetail, RunWait } from './shapes/run.ts';
import type { Fire, Schedule, ScheduleDetail } from './shapes/schedule.ts';
import type { RemovedTag, RenamedTag, Tag } from './shapes/tag.ts';
import type { Attempt, Explanation, LogLine, PushedTask, Task, TaskDetail } from './shapes/task.ts';
import type { FiredTrigger, Firing, PutTrigger, Trigger } from './shapes/trigger.ts';
import type { Approval, Decision, Signal } from './shapes/wait.ts';
import type { Worker, WorkerSetting } from './shapes/worker.ts';
import type {
  AppliedWorkflow,
  Workflow,
  WorkflowCheck,
  WorkflowDetail,
  WorkflowVersion,
  WorkflowVersionDetail,
} from './shapes/workflow.ts';

/**
 * Views are what people and programs see, under public ids and names. Each has the shape of an answer, which is declared
 * once.
 */
type View<S extends z.ZodType> = Readonly<z.input<S>>;

/** Times are calendar milliseconds; what does not apply is absent. */
export type TaskView = View<typeof Task>;
export type TaskDetailView = View<typeof TaskDetail>;
export type PushedView = View<typeof PushedTask>;
export type AttemptView = View<typeof Attempt>;
export type WaitView = NonNullable<TaskDetailView['wait']>;
export type ExplanationView = View<typeof Explanation>;
export type WorkerVerdict = ExplanationView['workers'][number];
export type LimitVerdict = ExplanationView['limits'][number];
export type LogLineView = View<typeof LogLine>;
export type EventView = View<typeof Event>;
export type QueueView = View<typeof Queue>;
export type PurgedView = View<typeof Purged>;
export type RetriedView = View<typeof Retried>;
export type WorkerView = View<typeof Worker>;
export type WorkerSettingView = View<typeof WorkerSetting>;
/** A file that a task has left behind. */
export type ArtifactView = View<typeof Artifact>;
export type CredentialView = View<typeof Credential>;
export type PoolView = View<typeof Pool>;
export type PoolDetailView = View<typeof PoolDetail>;
export type PoolCheckedView = View<typeof PoolChecked>;
export type PoolDecisionView = View<typeof PoolDecision>;
export type PoolTicketView = View<typeof PoolTicket>;
export type TagView = View<typeof Tag>;
export type RenamedTagView = View<typeof RenamedTag>;
export type RemovedTagView = View<typeof RemovedTag>;
export type LimitView = View<typeof Limit>;
export type LimitDetailView = View<typeof LimitDetail>;
/** The bounds of a limit; a bound that it does not have is absent. */
export type LimitBounds = Pick<LimitView, 'concurrent' | 'perKey' | 'rate' | 'cost' | 'strategy' | 'backlog'>;
export type RateView = NonNullable<LimitBounds['rate']>;
export type ApprovalView = View<typeof Approval>;
export type DecisionView = View<typeof Decision>;
export type SignalView = View<typeof Signal>;
export type ClusterView = View<typeof Cluster>;
export type NodeView = View<typeof ClusterNode>;
export type ScheduleView = View<typeof Schedule>;
export type ScheduleDetailView = View<typeof ScheduleDetail>;
export type FireView = View<typeof Fire>;
export type TriggerView = View<typeof Trigger>;
export type PutTriggerView = View<typeof PutTrigger>;
export type FiringView = View<typeof Firing>;
export type FiredView = View<typeof FiredTrigger>;
export type WorkflowView = View<typeof Workflow>;
export type WorkflowDetailView = View<typeof WorkflowDetail>;
export type WorkflowVersionView = View<typeof WorkflowVersion>;
export type WorkflowVersionDetailView = View<typeof WorkflowVersionDetail>;
export type WorkflowCheckView = View<typeof WorkflowCheck>;
export type AppliedWorkflowView = View<typeof AppliedWorkflow>;
export type UpgradePolicyView = View<typeof UpgradePolicy>;
export type UpgradeStatusView = View<typeof UpgradeStatus>;
export type UpgradeEditView = z.input<typeof UpgradeEdit>;
export type AuditEntryView = View<typeof AuditEntry>;
export type RunView = View<typeof Run>;
export type RunDetailView = View<typeof RunDetail>;
export type RunWaitView = View<typeof RunWait>;
export type RunStepView = View<typeof RunStep>;
export type RunCheckView = View<typeof RunCheck>;
export type RunGraphView = View<typeof RunGraph>;
export type RunGraphStatesView = View<typeof RunGraphStates>;
export type RunGraphNodeView = View<typeof RunGraphNode>;
export type RunStepDetailView = View<typeof RunStepDetail>;
