import { randomUUID } from 'node:crypto';
import type {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import {
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { isEngineError } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import { findTask } from '../../operate/calls/calls.ts';
import { pushOne } from '../../operate/calls/push-calls.ts';
import { numberOf } from '../../operate/engine-snapshot.ts';
import type { Caller } from '../../operate/operator.ts';
import type { TaskView } from '../../operate/views.ts';
import type { Auditor } from '../auth/audit.ts';
import type { EventBroadcaster } from '../events/event-broadcaster.ts';
import { watchTask } from '../events/task-watch.ts';
import { contextOf, inputOf, pushOrderOf, resultOf, statesOf, statusOf, taskOf } from './convert.ts';
import { historyOf } from './history.ts';

export interface AgentOptions {
  readonly engine: Engine;
  readonly broadcaster: EventBroadcaster;
  readonly operator: Caller;
  readonly card: () => Promise<AgentCard>;
  /** The name that histories record. */
  readonly by: string;
  /** Called before a push; rejects when this caller may not push more. */
  readonly admit: (queue: string) => Promise<void>;
  readonly audited: Auditor;
  /** Nobody reads the answer any more. */
  readonly hangUp: AbortSignal;
}

const PAGE = 50;
const MOST_PAGE = 100;
/** Tasks that one page of a list searches for those made by A2A. */
const LOOKED_AT = 1000;

/** A decision: a data part names the action; a text is the action itself. */
interface DecisionInput {
  readonly action?: unknown;
  readonly value?: unknown;
  readonly text?: unknown;
}

/**
 * Handles A2A for one request. The task of the engine is the only record: its id is the id of the A2A task, so that every
 * node gives the same answer.
 */
export class Agent implements A2ARequestHandler {
  readonly #options: AgentOptions;

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  getAgentCard(): Promise<AgentCard> {
    return this.#options.card();
  }

  /** Answers when the task has ended or asks for a decision, unless the message says that it will not wait. */
  async sendMessage({ message, configuration }: SendMessageRequest): Promise<Task> {
    return withA2aErrors(async () => {
      refusePushNotifications(configuration?.taskPushNotificationConfig);
      const task = await this.#take(message);
      const most = configuration?.historyLength;
      if (configuration?.returnImmediately === true) return this.#shown(task, most);
      for await (const { question } of this.#watch(task)) if (question !== undefined) break;
      return this.#shown(task, most);
    });
  }

  async *sendMessageStream({ message, configuration }: SendMessageRequest): AsyncGenerator<StreamResponse, void> {
    refusePushNotifications(configuration?.taskPushNotificationConfig);
    yield* this.#stream(await withA2aErrors(() => this.#take(message)));
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void> {
    const task = await withA2aErrors(async () => {
      const shown = await this.#find(id);
      if (isFinal(shown.state)) throw new UnsupportedOperationError(`Task ${id} has ended.`);
      return this.#number(id);
    });
    yield* this.#stream(task);
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    return withA2aErrors(async () => {
      await this.#find(id);
      return this.#shown(this.#number(id), historyLength);
    });
  }

  async listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    const { contextId, status, pageSize = PAGE, pageToken, historyLength, statusTimestampAfter } = request;
    return withA2aErrors(async () => {
      const since = statusTimestampAfter === undefined ? 0 : Date.parse(statusTimestampAfter);
      if (Number.isNaN(since)) throw new RequestMalformedError('statusTimestampAfter is not a time.');
      const size = Math.min(Math.max(1, pageSize), MOST_PAGE);
      const from = pageToken === '' ? undefined : String(this.#number(pageToken));
      const query = { state: statesOf(status), limit: LOOKED_AT, cursor: from };
      const looked = await this.#options.operator.call('listTasks', { query });
      const ours = looked.tasks.filter((task) => {
        const context = contextOf(task);
        const wanted = context !== undefined && (contextId === '' || context === contextId);
        return wanted && Date.parse(statusOf(task).timestamp ?? '') >= since;
      });
      const tasks = ours.slice(0, size);
      return {
        tasks: await Promise.all(
          tasks.map(async (task) => taskOf(task, undefined, await this.#history(task, historyLength))),
        ),
        nextPageToken: (ours.length > size ? tasks.at(-1)?.id : looked.cursor) ?? '',
        pageSize: size,
        totalSize: ours.length,
      };
    });
  }

  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return withA2aErrors(async () => {
      const { state } = await this.#find(id);
      if (isFinal(state)) throw new TaskNotCancelableError(`Task ${id} has ended: ${state}.`);
      const task = this.#number(id);
      await this.#options.audited('cancelTask', id, () => this.#options.engine.cancel(task));
      return this.#shown(task);
    });
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return Promise.reject(new ExtendedAgentCardNotConfiguredError());
  }

  createTaskPushNotificationConfig(): Promise<never> {
    return Promise.reject(new PushNotificationNotSupportedError());
  }

  getTaskPushNotificationConfig(): Promise<never> {
    return Promise.reject(new PushNotificationNotSupportedError());
  }

  listTaskPushNotificationConfigs(): Promise<never> {
    return Promise.reject(new PushNotificationNotSupportedError());
  }

  deleteTaskPushNotificationConfig(): Promise<never> {
    return Promise.reject(new PushNotificationNotSupportedError());
  }

  /** A message makes a task, or decides for one that waits for a decision. */
  async #take(message: Message | undefined): Promise<number> {
    if (message === undefined) throw new RequestMalformedError('There is no message.');
    return message.taskId === '' ? this.#push(message) : this.#decide(message);
  }

  async #push(message: Message): Promise<number> {
    const { handler, queue, input, key } = pushOrderOf(message, randomUUID);
    await this.#options.admit(queue);
    const { id } = await pushOne(this.#options.operator, { queue, handler, input, unique: key });
    return this.#number(id);
  }

  async #decide(message: Message): Promise<number> {
    await this.#find(message.taskId);
    const task = this.#number(message.taskId);
    const wait = await this.#questionOf(message.taskId);
    if (wait === undefined) throw new UnsupportedOperationError(`Task ${message.taskId} waits for no message.`);
    const { action, value, text } = inputOf(message.parts) as DecisionInput;
    const word = action ?? text;
    if (typeof word !== 'string') throw new RequestMalformedError('The message names no action.');
    const { operator, by } = this.#options;
    const decide = (): Promise<unknown> =>
      operator.call('decideApproval', { params: { id: message.taskId }, body: { action: word, value }, by });
    await this.#options.audited('decideApproval', message.taskId, decide);
    return task;
  }

  /** The task first, then each change. The result comes before the status `completed`. */
  async *#stream(task: number): AsyncGenerator<StreamResponse, void> {
    let first = true;
    for await (const { shown, question } of this.#watch(task)) {
      const { id: taskId } = shown;
      const contextId = contextOf(shown) ?? '';
      if (first) {
        yield { payload: { $case: 'task', value: taskOf(shown, question, await this.#history(shown)) } };
      } else {
        if (shown.state === 'completed') {
          const artifact = resultOf(shown);
          const value = { taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined };
          yield { payload: { $case: 'artifactUpdate', value } };
        }
        const value = { taskId, contextId, status: statusOf(shown, question), metadata: undefined };
        yield { payload: { $case: 'statusUpdate', value } };
      }
      first = false;
      if (question !== undefined) return;
    }
  }

  async *#watch(task: number): AsyncGenerator<{ readonly shown: TaskView; readonly question: string | undefined }> {
    for await (const shown of watchTask(this.#options, task, this.#options.hangUp)) {
      yield { shown, question: shown.state === 'waiting' ? await this.#questionOf(shown.id) : undefined };
    }
  }

  /** The question for people, if the task waits for a decision. */
  async #questionOf(id: string): Promise<string | undefined> {
    const { wait } = await this.#options.operator.call('getTask', { params: { id } });
    return wait?.kind === 'approval' ? `${wait.title} (${wait.actions.join(', ')})` : undefined;
  }

  #history(shown: TaskView, most?: number): ReturnType<typeof historyOf> {
    return historyOf(this.#options.engine, shown, most);
  }

  async #shown(task: number, most?: number): Promise<Task> {
    const shown = await findTask(this.#options.operator, String(task));
    if (shown === undefined) throw new TaskNotFoundError();
    const question = shown.state === 'waiting' ? await this.#questionOf(shown.id) : undefined;
    return taskOf(shown, question, await this.#history(shown, most));
  }

  /** Only tasks that a message has made are found here. */
  async #find(id: string): Promise<TaskView> {
    const shown = await findTask(this.#options.operator, String(this.#number(id)));
    if (shown === undefined || contextOf(shown) === undefined) throw new TaskNotFoundError(`There is no task ${id}.`);
    return shown;
  }

  #number(id: string): number {
    try {
      return numberOf(this.#options.engine, id);
    } catch (error) {
      if (isEngineError(error)) throw new TaskNotFoundError(`There is no task ${id}.`);
      throw error;
    }
  }
}

function refusePushNotifications(config: unknown): void {
  if (config !== undefined) throw new PushNotificationNotSupportedError();
}

/** Turns errors of the engine into errors of A2A. */
async function withA2aErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isEngineError(error)) throw error;
    if (error.code === 'NOT_FOUND') throw new TaskNotFoundError(error.message);
    if (error.status >= 500) throw error;
    throw new RequestMalformedError(error.message);
  }
}
