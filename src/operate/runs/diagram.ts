import type { Value } from '../../flow/expression/values.ts';
import type { Machine, State } from '../../flow/machine/definition.ts';
import { outlineOf } from '../../flow/machine/show/outline.ts';
import type { RunDetailView } from '../../protocol/views.ts';
import type { Step } from './journals.ts';

type States = NonNullable<RunDetailView['states']>;

/** The states of a machine as they are drawn, and how often each was visited. `now`: where the machine is, which has no entry so far. */
export function diagramOf(
  machine: Machine,
  raw: Value,
  steps: readonly Step[],
  now: { readonly state: string; readonly step: number } | undefined,
): States {
  const visits = new Map<string, number>();
  const visit = (state: string): void => void visits.set(state, (visits.get(state) ?? 0) + 1);
  let last: number | undefined;
  for (const { step, state, via, passed } of steps) {
    for (const one of via) visit(one);
    // Parts of one visit have one number.
    if (step !== last) visit(state);
    for (const one of passed) visit(one);
    last = step;
  }
  if (now !== undefined && now.step !== last) visit(now.state);
  return outlineOf(machine, raw).states.map(({ name, initial, final, transitions, errors }) => ({
    name,
    type: initial ? 'initial' : final ? 'final' : 'state',
    does: wordFor(machine.states.get(name) as State),
    to: transitions.map(({ to, when }) => (when === undefined ? { state: to } : { state: to, condition: when })),
    onError: [...new Set(errors.map(({ to }) => to))],
    visits: visits.get(name) ?? 0,
  }));
}

function wordFor({ agent, machines, waitFor, action, launch }: State): string {
  if (agent !== undefined) return 'agent';
  if (machines.length > 0) return 'machine';
  if (waitFor !== undefined) return 'wait';
  if (action !== undefined) return 'action';
  return launch.length > 0 ? 'launch' : 'nothing';
}
