import type { Shape } from '../../core/audit/shown.ts';
import type { RouteName } from '../../protocol/routes.ts';
import type { Kind } from './things.ts';

/** Actions are named after their route, if they have one. */
export type Action = RouteName | 'editTask' | 'deleteTask';

/** What is written of an action, beside who, when and how it ended. Fields that are not named here are never written. */
export interface Audited {
  /** What it changes: shown as it was and as it became. Undefined: there is nothing to show. */
  readonly of?: Kind;
  /** Of the request: what was asked for, which the thing itself does not tell. */
  readonly asked?: Shape;
  /** Of the answer: how much was changed. */
  readonly answer?: Shape;
}

const TREE: Audited = {
  of: 'task',
  asked: { tree: true },
  answer: { counts: { cancelled: true, requested: true, retried: true, finished: true, refused: true } },
};
const NEW_TOKEN: Audited = {
  of: 'token',
  asked: { grace: true, ttl: true },
  answer: { id: true, kind: true, role: true, name: true, expiresAt: true },
};
const NOTHING: Audited = {};

/** Every administrative action: it grants access or revokes it, or changes what others have made. */
export const AUDITED: { readonly [A in Action]?: Audited } = {
  login: NOTHING,
  logout: NOTHING,
  createLogin: NOTHING,
  createToken: NEW_TOKEN,
  rotateToken: NEW_TOKEN,
  revokeToken: { of: 'token' },

  createWorker: { of: 'worker' },
  enrolWorker: { of: 'worker' },
  rotateWorker: { of: 'worker', asked: { grace: true } },
  editWorker: { of: 'worker' },
  removeWorker: { of: 'worker', answer: { removed: true, secrets: true } },
  setCredential: { of: 'credential' },
  grantCredential: { of: 'credential' },
  revokeCredential: { of: 'credential' },
  removeCredential: { of: 'credential' },
  createTag: { of: 'tag' },
  renameTag: { of: 'tag', answer: { tag: true, changed: true } },
  removeTag: { of: 'tag', answer: { changed: true } },
  putPool: { of: 'pool' },
  removePool: { of: 'pool' },
  checkPool: { of: 'pool', answer: { want: true, there: true, launched: true, drained: true } },
  editNode: { of: 'node' },
  editUpgrade: { of: 'upgrade' },

  createLimit: { of: 'limit' },
  editLimit: { of: 'limit' },
  removeLimit: { of: 'limit' },
  pauseLimit: { of: 'limit', asked: { for: true } },
  resumeLimit: { of: 'limit' },

  putSchedule: { of: 'schedule' },
  removeSchedule: { of: 'schedule' },
  pauseSchedule: { of: 'schedule' },
  resumeSchedule: { of: 'schedule' },
  runSchedule: { of: 'schedule', answer: { id: true } },
  putTrigger: { of: 'trigger' },
  removeTrigger: { of: 'trigger' },
  enableTrigger: { of: 'trigger' },
  disableTrigger: { of: 'trigger' },
  rotateTrigger: { of: 'trigger' },
  fireTrigger: { of: 'trigger', answer: { n: true, outcome: true, id: true } },
  applyWorkflow: { of: 'workflow' },
  removeWorkflow: { of: 'workflow' },
  enableWorkflow: { of: 'workflow' },
  disableWorkflow: { of: 'workflow' },
  restoreWorkflow: { of: 'workflow' },

  pauseQueue: { of: 'queue' },
  resumeQueue: { of: 'queue' },
  purgeQueue: { of: 'queue', answer: { found: true, cancelled: true, asked: true } },
  retryQueue: { of: 'queue', asked: { states: true }, answer: { found: true, retried: true } },

  cancelTask: TREE,
  retryTask: TREE,
  editTask: { of: 'task' },
  deleteTask: { of: 'task' },
  decideApproval: { of: 'task' },
  cancelRun: { of: 'run' },
  retryRun: { of: 'run' },
  setRunBudget: { of: 'run', asked: { unit: true, soft: true, hard: true } },
  pauseLoop: { of: 'run' },
  resumeLoop: { of: 'run' },
  cancelLoop: { of: 'run' },
  retryLoop: { of: 'run' },
  removeArtifact: { answer: { task: true, name: true, size: true } },
  mergeLoop: { of: 'run', answer: { commit: true } },
  scrapLoop: { of: 'run' },
  removeWorktree: { of: 'run' },
  saveView: { of: 'view' },
  removeView: { of: 'view' },
};

const PUSH = 'it adds work of its own, which the events and the task itself tell of; a push pays for nothing else';
const LOOK = 'it changes nothing';
const WORKER = 'what a worker does with the tasks that it holds is told by events';
const EACH = 'each of its methods that changes something is audited under its own name';

/** Routes that are called to change something and are not audited, with the reason. A test finds one that is in neither table. */
export const NOT_AUDITED: { readonly [N in RouteName]?: string } = {
  pushTasks: PUSH,
  pushGraph: PUSH,
  startRun: PUSH,
  runWorkflow: PUSH,
  forkRun: PUSH,
  startLoop: PUSH,
  sendSignal: 'it is work: the task that waits for it is given a message',
  deliverHook: 'a delivery is no action of a person; the trigger keeps a line of each',
  sendBytes: 'the bytes of what a worker has announced; the task and its artifacts tell of it',
  checkRun: LOOK,
  createLoopPr: LOOK,
  checkWorkflow: LOOK,
  registerWorker: WORKER,
  beatWorker: WORKER,
  claimSteps: WORKER,
  appendEvents: WORKER,
  completeStep: WORKER,
  joinWorker: WORKER,
  takeTasks: WORKER,
  askNode: WORKER,
  a2a: EACH,
  mcp: EACH,
  rpcRoot: EACH,
  rpc: EACH,
  rpcTasks: EACH,
  rpcSystem: EACH,
};

export function isAudited(action: string): boolean {
  return Object.hasOwn(AUDITED, action);
}

export function auditedOf(action: string): Audited | undefined {
  return isAudited(action) ? AUDITED[action as Action] : undefined;
}

/**
 * In a program with the library open, what its own tasks and runs are told is its work. What it changes for others (limits, schedules,
 * triggers, workflows, pools, settings) is audited as anybody's.
 */
const OWN_WORK: ReadonlySet<string> = new Set<Action>([
  'cancelTask',
  'retryTask',
  'decideApproval',
  'cancelRun',
  'retryRun',
  'setRunBudget',
  'fireTrigger',
  'runSchedule',
]);

export function isOwnWork(action: string): boolean {
  return OWN_WORK.has(action);
}
