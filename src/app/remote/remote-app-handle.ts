import type { CompletionWatcher } from '../../client/completion-watcher.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import type { LogEntry } from '../../core/task/log.ts';
import { isFinal, type TaskState } from '../../core/task/task.ts';
import type { CancelAct, RetryAct, TreeOptions } from '../../engine/trees/trees.ts';
import { cancelOne, cancelTree, linesOf, PAGE, retryTree } from '../../operate/calls/calls.ts';
import { isReference, wholeResult } from '../../operate/large-result.ts';
import type { Operator } from '../../operate/operator.ts';
import type { CancelAnswer } from '../../store/store.ts';
import { failureOf } from '../library/handle.ts';
import type { AppEvent, AppTree, FollowOptions, Handle } from '../library/leasehold.ts';
import { itemOf } from './remote-app-events.ts';

/** A task of a node: what became of it, and how to stop it. */
export class RemoteHandle<Result = unknown> implements Handle<Result> {
  readonly id: string;
  readonly fresh: boolean;
  readonly #operator: Operator;
  readonly #completions: CompletionWatcher;

  constructor(
    operator: Operator,
    completions: CompletionWatcher,
    pushed: { readonly id: string; readonly fresh: boolean },
  ) {
    this.#operator = operator;
    this.#completions = completions;
    this.id = pushed.id;
    this.fresh = pushed.fresh;
  }

  async result({ signal }: FollowOptions = {}): Promise<Result> {
    const task = await this.#completions.wait(this.id, signal);
    if (task === undefined) throw fault('NOT_FOUND', { kind: 'task', id: this.id });
    if (task.state === 'completed') {
      const { result } = task;
      return (isReference(result) ? await wholeResult(this.#operator, result, signal) : result) as Result;
    }
    throw failureOf(this.id, task);
  }

  async state(): Promise<TaskState> {
    return (await this.#operator.call('getTask', { params: { id: this.id } })).state;
  }

  async progress(): Promise<unknown> {
    let latest: string | undefined;
    for await (const entry of linesOf(this.#operator, this.id)) if (entry.stream === 'progress') latest = entry.text;
    return latest === undefined ? undefined : JSON.parse(latest);
  }

  logs({ signal }: FollowOptions = {}): AsyncIterable<LogEntry & { readonly attempt: number }> {
    return this.#operator.lines(this.id, { signal });
  }

  async *events(options: FollowOptions & { readonly after?: number } = {}): AsyncIterable<AppEvent> {
    const { signal } = options;
    // Before the task is read: an end that comes after that read also comes after this position.
    const after = options.after ?? (await this.#operator.call('readEvents', { signal })).last;
    if (await this.#isOver()) {
      yield* this.#pastEvents(after);
      return;
    }
    for await (const view of this.#operator.events({ after, tasks: [this.id], signal })) {
      const item = itemOf(view);
      if (item.kind === 'reset') {
        if (!(await this.#isOver())) continue;
        // Its end may be among the removed events, and would never come.
        yield* this.#pastEvents(item.last);
        return;
      }
      if (item.kind === 'worker') continue;
      yield item.event;
      if (isFinal(item.event.state)) return;
    }
  }

  cancel(): Promise<CancelAnswer> {
    return cancelOne(this.#operator, this.id);
  }

  cancelTree(options: TreeOptions = {}): Promise<AppTree<CancelAct>> {
    return cancelTree(this.#operator, this.id, options);
  }

  retryTree(options: TreeOptions = {}): Promise<AppTree<RetryAct>> {
    return retryTree(this.#operator, this.id, options);
  }

  async #isOver(): Promise<boolean> {
    try {
      return isFinal(await this.state());
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return true;
      throw error;
    }
  }

  /** Its events that the feed still has, without waiting for more. */
  async *#pastEvents(from: number): AsyncIterable<AppEvent> {
    for (let after = from; ; ) {
      const page = await this.#operator.call('readEvents', { query: { after, limit: PAGE } });
      for (const item of page.events.map((event) => itemOf({ kind: 'event', event }))) {
        if (item.kind !== 'event' || item.event.id !== this.id) continue;
        yield item.event;
        if (isFinal(item.event.state)) return;
      }
      if (page.events.length === 0) return;
      after = page.last;
    }
  }
}
