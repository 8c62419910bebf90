import { fault } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Store, TaskRecord } from '../../store/store.ts';
import type { PushRequest } from '../push/push.ts';

/** A task that tells somebody of the end of an execution. Its input has a `body`, to which the end is added when it is claimed. */
export type EndReport = Pick<PushRequest, 'handler' | 'maxAttempts' | 'retry' | 'timeout'> & {
  readonly input: { readonly body: object; readonly [field: string]: unknown };
};

/** In a body it becomes the name of the end. */
export const ENDED = 'task_ended';

/** What the body says of the execution before it has ended. */
export interface ReportBody {
  readonly root_task_id: string;
  readonly task_id: string;
  /** How often the document was executed, with this execution. */
  readonly execution: number;
  readonly type?: string;
}

type Reads = Pick<Store, 'depList' | 'documentGet' | 'taskGet'>;

/** The input with the end of the execution. */
export async function completeReport(store: Reads, task: number, payload: string): Promise<object> {
  const input = JSON.parse(payload) as { readonly body: ReportBody };
  const record = await endOf(store, task, input.body);
  const { state, result, finishedAt } = record;
  const outcome = result === undefined ? null : (JSON.parse(result) as unknown);
  const end = {
    status: state,
    progress: state === 'completed' ? 1 : 0,
    timestamp: finishedAt === undefined ? null : new Date(finishedAt).toISOString(),
    result: state === 'completed' ? outcome : null,
    error: state === 'completed' ? null : messageOf(outcome),
  };
  const type = input.body.type === ENDED ? { type: state === 'completed' ? 'task_completed' : 'task_failed' } : {};
  return { ...input, body: { ...input.body, ...type, ...end } };
}

/** The task of the document. Where the document was executed again since, the task that this report waited for. */
async function endOf(store: Reads, task: number, { task_id: id, execution }: ReportBody): Promise<TaskRecord> {
  const [document] = await store.documentGet({ ids: [id] });
  const own = document?.run === execution ? document.task : undefined;
  const waited = own === undefined ? await store.depList({ task }) : [];
  const [only] = waited.length === 1 ? waited : [];
  const [record] = await store.taskGet({ tasks: [own ?? only?.task ?? 0] });
  if (record !== undefined && isFinal(record.state)) return record;
  throw fault('NOT_FOUND', { kind: 'task', id }, { hint: 'Its end is no longer kept, so it cannot be told.' });
}

function messageOf(outcome: unknown): string | null {
  const { message } = (outcome ?? {}) as { readonly message?: unknown };
  if (typeof message === 'string') return message;
  return outcome === null ? null : JSON.stringify(outcome);
}
