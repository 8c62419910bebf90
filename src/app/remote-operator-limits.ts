import type { Client } from '../client/client.ts';
import { type LimitAnswer, type LimitEdit, noRateToChange } from '../operate/limits.ts';
import type { LimitDetailView, LimitView, RateView } from '../operate/views.ts';
import type { AskedOf } from '../protocol/paths.ts';
import type { OperatingLimits } from './operating.ts';

type Wire = AskedOf<'editLimit'>;

/** Limits of a node. */
export class RemoteLimits implements OperatingLimits {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async list(): Promise<readonly LimitView[]> {
    return (await this.#client.call('listLimits')).limits as readonly LimitView[];
  }

  async detail(name: string): Promise<LimitDetailView> {
    return (await this.#client.call('getLimit', { params: { name } })) as LimitDetailView;
  }

  /** Makes it if there is none. */
  async set(name: string, edit: LimitEdit, by: string): Promise<LimitAnswer> {
    const before = (await this.list()).find((one) => one.name === name);
    const body = wireOf(edit, before);
    const limit = (await (before === undefined
      ? this.#client.call('createLimit', { body: { name, ...body }, by })
      : this.#client.call('editLimit', { params: { name }, body, by }))) as LimitView;
    if (before === undefined) return { limit, changed: true };
    return { limit, before, changed: limit.revision !== before.revision };
  }

  async remove(name: string, by: string): Promise<LimitView> {
    return (await this.#client.call('removeLimit', { params: { name }, by })) as LimitView;
  }

  async pause(name: string, key: string | undefined, forMs: number): Promise<LimitDetailView> {
    const body = { for: forMs, ...(key === undefined ? {} : { key }) };
    return (await this.#client.call('pauseLimit', { params: { name }, body })) as LimitDetailView;
  }
}

/** Over the wire a rate is said as a whole: what is not to change of it is what it was. */
function wireOf(edit: LimitEdit, before: LimitView | undefined): Wire {
  const { concurrent, perKey, strategy, backlog } = edit;
  const rate = rateOf('rate', before?.rate, { span: edit.rate, burst: edit.rateBurst, perKey: edit.ratePerKey });
  const cost = rateOf('cost', before?.cost, { span: edit.cost, burst: edit.costBurst, perKey: edit.costPerKey });
  return { concurrent, perKey, rate, cost, strategy, backlog };
}

interface RateEdit {
  readonly span: LimitEdit['rate'];
  readonly burst: number | undefined;
  readonly perKey: boolean | undefined;
}

function rateOf(kind: 'rate' | 'cost', before: RateView | undefined, { span, burst, perKey }: RateEdit): Wire['rate'] {
  const rest = { ...(burst === undefined ? {} : { burst }), ...(perKey === undefined ? {} : { perKey }) };
  if (span !== undefined && span !== null) return { max: span.max, window: span.windowMs, ...rest };
  if (Object.keys(rest).length === 0) return span;
  if (before === undefined || span === null) throw noRateToChange(kind, burst === undefined ? 'per-key' : 'burst');
  return { max: before.max, window: before.window, ...rest };
}
