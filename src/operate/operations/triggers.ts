import { fault } from '../../core/errors.ts';
import { checkTrigger, type SecretSource, type Trigger } from '../../core/trigger/trigger.ts';
import type { StoredTrigger } from '../../engine/triggers/triggers.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { PutTriggerView, TriggerView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { HookSecrets, KeptSecret } from '../triggers/hook-secrets.ts';
import { viewFired, viewFiring, viewTrigger } from '../triggers/view.ts';
import type { Operations } from './operation.ts';

/** Triggers: what starts work when something happens. */
export const triggerOperations = {
  async listTriggers({ engine }, { query: { kind } = {} }) {
    return { triggers: (await engine.triggers.list(kind)).map(viewTrigger) };
  },

  async putTrigger(snapshot, { body }) {
    const { enabled, secret, ...given } = body;
    // Before a secret is made for it: one that is refused leaves nothing behind.
    checkTrigger({ ...given, ...(secret !== undefined && 'env' in secret ? { secret } : {}) });
    const { kept, told } = await secretOf(snapshot, body);
    const trigger = { ...given, ...(kept === undefined ? {} : { secret: kept }) } as Trigger;
    return putView(await snapshot.engine.triggers.put(trigger, { enabled }), told);
  },

  async getTrigger({ engine }, { params: { name } }) {
    return viewTrigger(await engine.triggers.get(name));
  },

  async removeTrigger({ engine }, { params: { name } }) {
    const before = viewTrigger(await engine.triggers.get(name));
    await engine.triggers.remove(name);
    return before;
  },

  enableTrigger: (snapshot, { params: { name } }) => turn(snapshot, name, true),
  disableTrigger: (snapshot, { params: { name } }) => turn(snapshot, name, false),

  async rotateTrigger(snapshot, { params: { name } }) {
    const { trigger } = await snapshot.engine.triggers.get(name);
    if (trigger.kind !== 'webhook') throw refuse('trigger', `${name} is no webhook, and has no secret`);
    const { kept, told } = hooksOf(snapshot).make(name);
    return putView(await snapshot.engine.triggers.put({ ...trigger, secret: kept }), told);
  },

  async fireTrigger({ engine }, { params: { name }, body: { input }, key }) {
    return viewFired(await engine.triggers.fire(name, { input, key }));
  },

  async triggerHistory({ engine }, { params: { name }, query: { limit, before } = {} }) {
    return { history: (await engine.triggers.history(name, { limit, before })).map(viewFiring) };
  },
} satisfies Operations;

async function turn({ engine }: EngineSnapshot, name: string, enabled: boolean): Promise<TriggerView> {
  await engine.triggers.enable(name, enabled);
  return viewTrigger(await engine.triggers.get(name));
}

function putView(stored: StoredTrigger, told: string | undefined): PutTriggerView {
  return { ...viewTrigger(stored), ...(told === undefined ? {} : { newSecret: told }) };
}

/** A webhook that says nothing of its secret keeps the one that it has, and gets one if it has none. */
async function secretOf(
  snapshot: EngineSnapshot,
  { name, kind, secret }: RequestOf<'putTrigger'>,
): Promise<KeptSecret | { readonly kept: undefined; readonly told: undefined }> {
  if (kind !== 'webhook') {
    if (secret !== undefined) throw refuse('secret', `a trigger of kind ${kind} has no such field`);
    return { kept: undefined, told: undefined };
  }
  if (secret !== undefined && 'env' in secret) return { kept: secret satisfies SecretSource, told: undefined };
  if (secret !== undefined) return { kept: hooksOf(snapshot).seal(name, secret.value), told: undefined };
  const before = await snapshot.engine.triggers.find(name);
  if (before?.trigger.secret !== undefined) return { kept: before.trigger.secret, told: undefined };
  return hooksOf(snapshot).make(name);
}

function hooksOf({ hooks }: EngineSnapshot): HookSecrets {
  if (hooks !== undefined) return hooks;
  throw fault(
    'INVALID_INPUT',
    { field: 'secret', problem: 'only a node can keep the secret of a webhook' },
    {
      hint: 'Ask a node that runs ("leasehold up", or --server URL), or name a variable of the nodes: LEASEHOLD_HOOK_….',
    },
  );
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
