import { z } from 'zod';
import type { Entry } from '../../../core/settings/compare.ts';
import { checkTrigger } from '../../../core/trigger/trigger.ts';
import type { RequestOf } from '../../../protocol/paths.ts';
import { TriggerInput } from '../../../protocol/shapes/trigger.ts';
import type { TriggerView } from '../../views.ts';
import { inShape, plain } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

/** A file may name the variable of the nodes that has a secret, never the secret. */
const Secret = z.strictObject({ env: z.string().max(200) });
const Trigger = TriggerInput.omit({ name: true, secret: true }).extend({ secret: Secret.optional() });

/** Triggers. A new webhook that names no variable is told its secret, once. */
export const TRIGGERS: SettingsKind = {
  word: 'triggers',

  read(name, value) {
    const { enabled = true, ...trigger } = inShape(Trigger, `triggers.${name}`, value);
    checkTrigger({ ...trigger, name });
    return entryOf(trigger, enabled);
  },

  async list(caller) {
    const { triggers } = await caller.call('listTriggers');
    return new Map(triggers.map((trigger) => [trigger.name, entryOfView(trigger)]));
  },

  async put(caller, { name, wanted, by }) {
    const body = { enabled: true, ...wanted, name } as unknown as RequestOf<'putTrigger'>;
    const { newSecret } = await caller.call('putTrigger', { body, by });
    return newSecret === undefined ? undefined : { secret: newSecret };
  },

  remove: (caller, name, by) => caller.call('removeTrigger', { params: { name }, by }),
};

function entryOfView(view: TriggerView): Entry {
  const { name: _, secret: _place, variable, path: _path, enabled, fired: _fired, createdAt: _made, ...rest } = view;
  const { changedAt: _changed, last: _last, ...trigger } = rest;
  return entryOf({ ...trigger, ...(variable === undefined ? {} : { secret: { env: variable } }) }, enabled);
}

const entryOf = (trigger: object, enabled: boolean): Entry => plain({ ...trigger, ...(enabled ? {} : { enabled }) });
