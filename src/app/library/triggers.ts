/** Triggers for programs, on a store or on a node. */
import { isEngineError } from '../../core/errors.ts';
import type { TriggerKind } from '../../core/trigger/trigger.ts';
import type { Caller } from '../../operate/operator.ts';
import type { FiredView, FiringView, PutTriggerView, TriggerView } from '../../operate/views.ts';
import type { RequestOf } from '../../protocol/paths.ts';

/** A trigger, as it is put: what it listens to, and what it does. */
export type TriggerInput = Omit<RequestOf<'putTrigger'>, 'name'>;

/** Triggers by name: what starts work when something happens. */
export interface AppTriggers {
  /**
   * Makes a trigger or replaces the one of its name. A program may call it at each start: one that still listens to the same goes on where it
   * was. The secret of a webhook is made by a node, and told once.
   */
  put(name: string, trigger: TriggerInput): Promise<PutTriggerView>;
  list(options?: { readonly kind?: TriggerKind | undefined }): Promise<readonly TriggerView[]>;
  /** Undefined: there is no such trigger. */
  get(name: string): Promise<TriggerView | undefined>;
  /** Fires it by hand, whatever kind it is and also while it is off. A repeat under the same key answers as the first. */
  fire(name: string, input?: unknown, options?: { readonly key?: string | undefined }): Promise<FiredView>;
  /** What became of the last firings, the newest first. */
  history(
    name: string,
    options?: { readonly limit?: number; readonly before?: number },
  ): Promise<readonly FiringView[]>;
  enable(name: string): Promise<TriggerView>;
  disable(name: string): Promise<TriggerView>;
  /** Gives a webhook another secret, which holds at once. */
  rotate(name: string): Promise<PutTriggerView>;
  /** With its history. Its tasks stay. */
  remove(name: string): Promise<void>;
}

export class CalledTriggers implements AppTriggers {
  readonly #caller: () => Promise<Caller>;

  /** A program that has no trigger need not load what answers it. */
  constructor(caller: () => Promise<Caller>) {
    this.#caller = caller;
  }

  async put(name: string, trigger: TriggerInput): Promise<PutTriggerView> {
    return (await this.#caller()).call('putTrigger', { body: { ...trigger, name } });
  }

  async list({ kind }: { readonly kind?: TriggerKind | undefined } = {}): Promise<readonly TriggerView[]> {
    const query = kind === undefined ? {} : { kind };
    return (await (await this.#caller()).call('listTriggers', { query })).triggers;
  }

  async get(name: string): Promise<TriggerView | undefined> {
    try {
      return await (await this.#caller()).call('getTrigger', { params: { name } });
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async fire(name: string, input?: unknown, { key }: { readonly key?: string | undefined } = {}): Promise<FiredView> {
    const body = input === undefined ? {} : { input };
    return (await this.#caller()).call('fireTrigger', {
      params: { name },
      body,
      ...(key === undefined ? {} : { key }),
    });
  }

  async history(
    name: string,
    query: { readonly limit?: number; readonly before?: number } = {},
  ): Promise<readonly FiringView[]> {
    return (await (await this.#caller()).call('triggerHistory', { params: { name }, query })).history;
  }

  async enable(name: string): Promise<TriggerView> {
    return (await this.#caller()).call('enableTrigger', { params: { name } });
  }

  async disable(name: string): Promise<TriggerView> {
    return (await this.#caller()).call('disableTrigger', { params: { name } });
  }

  async rotate(name: string): Promise<PutTriggerView> {
    return (await this.#caller()).call('rotateTrigger', { params: { name } });
  }

  async remove(name: string): Promise<void> {
    await (await this.#caller()).call('removeTrigger', { params: { name } });
  }
}
