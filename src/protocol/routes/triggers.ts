import { z } from 'zod';
import { TRIGGER_KINDS } from '../../core/trigger/trigger.ts';
import { type Route, route } from '../route.ts';
import { digits, Json, pathName } from '../shapes/common.ts';
import { FiredTrigger, Firing, PutTrigger, Trigger, TriggerInput } from '../shapes/trigger.ts';
import { API } from './address.ts';

const oneTrigger = z.strictObject({ name: pathName('The name of a trigger') });

/** Triggers: what starts work when something happens. */
export const TRIGGER_ROUTES = {
  listTriggers: route({
    method: 'GET',
    path: `${API}/triggers`,
    access: 'read',
    does: 'Triggers by name, each with its last firing',
    query: z.strictObject({ kind: z.enum(TRIGGER_KINDS).optional() }),
    answer: z.object({ triggers: z.array(Trigger).readonly() }),
  }),
  putTrigger: route({
    method: 'POST',
    path: `${API}/triggers`,
    access: 'operator',
    does: 'Makes a trigger or replaces the one of its name. One that still listens to the same goes on where it was',
    body: TriggerInput,
    answer: PutTrigger,
  }),
  getTrigger: route({
    method: 'GET',
    path: `${API}/triggers/{name}`,
    access: 'read',
    does: 'A trigger',
    params: oneTrigger,
    answer: Trigger,
  }),
  removeTrigger: route({
    method: 'DELETE',
    path: `${API}/triggers/{name}`,
    access: 'operator',
    does: 'Removes a trigger with its history; its tasks stay',
    params: oneTrigger,
    answer: Trigger,
  }),
  enableTrigger: route({
    method: 'POST',
    path: `${API}/triggers/{name}/enable`,
    access: 'operator',
    does: 'Turns a trigger on. What happened while it was off is not made up for',
    params: oneTrigger,
    answer: Trigger,
  }),
  disableTrigger: route({
    method: 'POST',
    path: `${API}/triggers/{name}/disable`,
    access: 'operator',
    does: 'Turns a trigger off: nothing fires it but somebody who asks for it',
    params: oneTrigger,
    answer: Trigger,
  }),
  rotateTrigger: route({
    method: 'POST',
    path: `${API}/triggers/{name}/rotate`,
    access: 'operator',
    does: 'Gives a webhook another secret, which holds at once',
    params: oneTrigger,
    answer: PutTrigger,
  }),
  fireTrigger: route({
    method: 'POST',
    path: `${API}/triggers/{name}/fire`,
    access: 'operator',
    does: 'Fires a trigger of any kind by hand, also one that is off',
    params: oneTrigger,
    body: z.strictObject({ input: Json.optional().describe('Merged with what the trigger has') }),
    answer: FiredTrigger,
    status: 202,
    repeatable: true,
  }),
  triggerHistory: route({
    method: 'GET',
    path: `${API}/triggers/{name}/history`,
    access: 'read',
    does: 'What became of the last firings, the newest first',
    params: oneTrigger,
    query: z.strictObject({
      limit: digits(z.number().min(1).max(100)).optional().describe('How many at most; default 100'),
      before: digits(z.number().min(1)).optional().describe('Only those before this number'),
    }),
    answer: z.object({ history: z.array(Firing).readonly() }),
  }),
  deliverHook: route({
    method: 'POST',
    path: `${API}/hooks/{name}`,
    access: 'open',
    does: 'Takes a delivery of a webhook. Instead of a token it has a signature over its id, its time and its body',
    params: oneTrigger,
    body: Json,
    raw: true,
    answer: FiredTrigger,
    status: 202,
  }),
} as const satisfies Record<string, Route>;
