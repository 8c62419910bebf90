import type { AskedOf } from '../protocol/paths.ts';
import { type LimitAnswer, type LimitEdit, noRateToChange } from './limits.ts';
import type { Caller } from './operator.ts';
import type { LimitView, RateView } from './views.ts';

type Wire = AskedOf<'editLimit'>;

/** Makes a limit if there is none. */
export async function setLimit(caller: Caller, name: string, edit: LimitEdit, by: string): Promise<LimitAnswer> {
  const { limits } = await caller.call('listLimits');
  const before = limits.find((one) => one.name === name);
  const body = wireOf(edit, before);
  if (before === undefined) {
    return { limit: await caller.call('createLimit', { body: { name, ...body }, by }), changed: true };
  }
  const limit = await caller.call('editLimit', { params: { name }, body, by });
  return { limit, before, changed: limit.revision !== before.revision };
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
