import { type LimitInput as CoreLimit, normalizeLimit } from '../../../core/limits/limit.ts';
import type { LimitEdit } from '../../../core/limits/limit-edit.ts';
import { checkName } from '../../../core/names.ts';
import { LimitInput } from '../../../protocol/shapes/limit.ts';
import { setLimit } from '../../calls/limit-calls.ts';
import { type LimitBounds, viewBounds } from '../../views.ts';
import { inShape, plain } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

/** Limits. `limit` is another word for `concurrent`, as in a file of concurrency groups. */
export const LIMITS: SettingsKind = {
  word: 'limits',

  read(name, value) {
    const {
      limit,
      name: _,
      ...given
    } = inShape(LimitInput, `limits.${name}`, { ...(value as object), name: checkName('limit', name) });
    const { concurrent = limit, ...rest } = given;
    const bounds = Object.entries({ ...rest, concurrent }).filter(([, bound]) => bound !== null && bound !== undefined);
    return plain(viewBounds(normalizeLimit(Object.fromEntries(bounds) as unknown as CoreLimit)));
  },

  async list(caller) {
    const { limits } = await caller.call('listLimits');
    return new Map(limits.map((limit) => [limit.name, plain(boundsOf(limit))]));
  },

  async put(caller, { name, wanted, by }) {
    const {
      concurrent = null,
      perKey = null,
      rate = null,
      cost = null,
      strategy,
      backlog = null,
    } = wanted as LimitEdit;
    await setLimit(caller, name, { concurrent, perKey, rate, cost, strategy, backlog }, by);
    return undefined;
  },

  remove: (caller, name, by) => caller.call('removeLimit', { params: { name }, by }),
};

function boundsOf({ concurrent, perKey, rate, cost, strategy, backlog }: LimitBounds): LimitBounds {
  return {
    ...(concurrent === undefined ? {} : { concurrent }),
    ...(perKey === undefined ? {} : { perKey }),
    ...(rate === undefined ? {} : { rate }),
    ...(cost === undefined ? {} : { cost }),
    strategy,
    ...(backlog === undefined ? {} : { backlog }),
  };
}
