import type { Client } from '../client/client.ts';
import { isEngineError } from '../core/errors.ts';
import type { LimitAnswer, LimitDetail, LimitEdit } from './operate-limits.ts';
import type { OperatingLimits } from './operating.ts';
import type { LimitView } from './views.ts';

/** Somebody who makes a limit and takes it away as often as this between two calls does not do it by chance. */
const TRIES = 5;

/** Limits of a node. */
export class RemoteLimits implements OperatingLimits {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async list(): Promise<readonly LimitView[]> {
    return (await this.#client.call('listLimits')).limits as readonly LimitView[];
  }

  async detail(name: string): Promise<LimitDetail> {
    return (await this.#client.call('getLimit', { params: { name } })) as LimitDetail;
  }

  set(name: string, edit: LimitEdit, by: string): Promise<LimitAnswer> {
    return setLimit(this.#client, name, edit, by);
  }

  async remove(name: string, by: string): Promise<LimitView> {
    return (await this.#client.call('removeLimit', { params: { name }, by })) as LimitView;
  }

  async pause(name: string, key: string | undefined, forMs: number): Promise<LimitDetail> {
    const body = { for: forMs, ...(key === undefined ? {} : { key }) };
    return (await this.#client.call('pauseLimit', { params: { name }, body })) as LimitDetail;
  }
}

/** Changes it, or makes it where there is none: the node has a call for each, and either is refused to who comes too late for it. */
export async function setLimit(
  client: Client,
  name: string,
  edit: LimitEdit,
  by: string | undefined,
  tries = TRIES,
): Promise<LimitAnswer> {
  try {
    const { before, ...limit } = await client.call('editLimit', { params: { name }, body: edit, by });
    const changed = before !== undefined;
    return { limit: limit as LimitView, before: (before ?? limit) as LimitView, changed };
  } catch (error) {
    if (!isEngineError(error, 'NOT_FOUND')) throw error;
  }
  try {
    const limit = await client.call('createLimit', { body: { name, ...edit }, by });
    return { limit: limit as LimitView, changed: true };
  } catch (error) {
    if (!isEngineError(error, 'CONFLICT') || tries === 1) throw error;
  }
  return setLimit(client, name, edit, by, tries - 1);
}
