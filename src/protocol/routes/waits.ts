import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Paging } from '../shapes/common.ts';
import { Approval, Decision, DecisionInput, Signal, SignalInput } from '../shapes/wait.ts';
import { API, oneTask } from './address.ts';

/** What a waiting task is woken by: signals and decisions. */
export const WAIT_ROUTES = {
  sendSignal: route({
    method: 'POST',
    path: `${API}/signals`,
    access: 'operator',
    does: 'Wakes a task that waits on a channel, or is kept for the next one',
    body: SignalInput,
    answer: Signal,
  }),
  listApprovals: route({
    method: 'GET',
    path: `${API}/approvals`,
    access: 'read',
    does: 'Tasks that wait for a decision, the oldest first',
    query: z.strictObject({ limit: Paging.limit }),
    answer: z.object({ approvals: z.array(Approval).readonly() }),
  }),
  decideApproval: route({
    method: 'POST',
    path: `${API}/approvals/{id}`,
    access: 'operator',
    does: 'Decides for a task that waits for a decision',
    params: oneTask,
    body: DecisionInput,
    answer: Decision,
  }),
} as const satisfies Record<string, Route>;
