/** The calls that a state makes of its agent, and what becomes of the run by their answers. */
import { isMap, type Value, type ValueMap, withAll } from '../expression/values.ts';
import { withAnswer, without, withSpent } from './answers.ts';
import { itemsOfState, outputOf, scopeWith } from './children.ts';
import type { AgentAnswer, AgentCommand, AgentEnd, ChildEnd, Command, MachineEvent } from './commands.ts';
import type { Machine, State } from './definition.ts';
import { fitting, fittingContext, renderField, StateError } from './scopes.ts';
import { sessionPlace } from './sessions.ts';
import type { Snapshot } from './snapshot.ts';

export interface Asking {
  readonly machine: Machine;
  readonly state: State & { readonly agent: string };
  /** What templates see. */
  readonly names: ValueMap;
  readonly at: Snapshot;
  readonly timeoutMs: number | undefined;
}

type Agents = Command & { readonly do: 'agents' };

/** One call; with `foreach`, and nothing else that is done for each item, one for each of them. */
export function askedOf(asking: Asking): AgentCommand | Agents {
  const { machine, state, names } = asking;
  const items = asksForEach(state) ? itemsOfState(machine, state, names) : undefined;
  allow(asking, items?.length ?? 1);
  return items === undefined ? callOf(asking) : callsOf(asking, items);
}

export const asksForEach = ({ agent, foreach, machines, launch, action }: State): boolean =>
  agent !== undefined && foreach !== undefined && machines.length === 0 && launch.length === 0 && action === undefined;

function allow({ machine, at }: Asking, more: number): void {
  const { maxAgentCalls = Number.POSITIVE_INFINITY } = machine;
  if (at.agentCalls + more <= maxAgentCalls) return;
  const problem =
    more === 1 || at.agentCalls >= maxAgentCalls
      ? `the machine has called agents ${maxAgentCalls} times`
      : `${more} calls more than the ${at.agentCalls} so far are more than max_agent_calls ${maxAgentCalls}`;
  throw new StateError('MaxAgentCallsExceeded', problem);
}

/** `place`: of its item. Without a name, the items of a list share no conversation. */
function callOf({ machine, state, names, at, timeoutMs }: Asking, place?: number): AgentCommand {
  const { agent, input, execution, toolLoop } = state;
  const render = (field: string, template: typeof toolLoop): Value =>
    template === undefined ? null : renderField(machine, field, template, names);
  const { key, name } = sessionPlace(machine, state, names);
  const step = `${at.executionId}/s:${String(at.step).padStart(6, '0')}`;
  return {
    do: 'agent',
    agent,
    state: at.state,
    key: place === undefined ? step : `${step}/i:${place}`,
    context: at.context,
    session: place !== undefined && name === undefined ? undefined : at.sessions[key],
    input: render('input', input),
    execution,
    toolLoop: render('tool_loop', toolLoop),
    sessionId: name,
    timeoutMs: place === undefined ? timeoutMs : undefined,
  };
}

function callsOf(asking: Asking, items: readonly Value[]): Agents {
  const { machine, state, names, at, timeoutMs } = asking;
  const { mode, losers, as } = state;
  const calls = items.map((item, i) => {
    // As an action sees it.
    const own = { ...at, context: { ...at.context, [as]: item } };
    return callOf({ ...asking, at: own, names: scopeWith(names, state, item) }, i);
  });
  const named = calls.flatMap(({ sessionId }) => sessionId ?? []);
  if (machine.parallelFallback === 'error' && new Set(named).size < named.length) {
    const problem = 'items with one session_id go on with one conversation, and cannot be asked at once';
    throw new StateError('ParallelError', `${problem} (parallel_fallback: error)`);
  }
  // Two items with one key are found before anybody is asked.
  outputOf(machine, state, names, []);
  return { do: 'agents', calls, most: machine.maxParallel, mode, losers, timeoutMs };
}

/** Where the run stands after its agent has answered; what was asked for each item is a list, or a map by `key`. */
export function answeredBy(
  event: Exclude<MachineEvent, { readonly kind: 'go' | 'failed' }>,
  { machine, state, names, at }: Omit<Asking, 'timeoutMs'>,
): Snapshot {
  if (event.kind === 'agents') return answeredByAll(event.ends, { machine, state, names, at });
  const answer = event.kind === 'agent' ? event.answer : {};
  return withAnswer(at, answer, sessionPlace(machine, state, names).key);
}

function answeredByAll(
  ends: readonly (AgentEnd | undefined)[],
  { machine, state, names, at }: Omit<Asking, 'timeoutMs'>,
): Snapshot {
  const output = fitting('output', outputOf(machine, state, names, ends.map(childEnd)));
  const items = itemsOfState(machine, state, names) ?? [];
  let after: Snapshot = { ...at, agentCalls: at.agentCalls + ends.filter((end) => end !== undefined).length };
  for (const [i, end] of ends.entries()) {
    if (end?.ok !== true) continue;
    const { answer } = end;
    const place = sessionPlace(machine, state, scopeWith(names, state, items[i]));
    after = withWords(after, answer, state.as, place.name === undefined ? undefined : place.key);
  }
  return { ...after, context: fittingContext(after.context), output };
}

/** What the calls have used, also where the state fails by what they gave. */
export function spentBy(event: MachineEvent, at: Snapshot): Snapshot {
  if (event.kind === 'agent') return withSpent(at, event.answer);
  const ends = event.kind === 'agents' ? event.ends : [];
  return ends.reduce<Snapshot>((sum, end) => withSpent(sum, (end?.ok === true ? end.answer : end?.spent) ?? {}), at);
}

/** What one answer leaves behind besides its output. The item is not left in the context. */
function withWords(at: Snapshot, answer: AgentAnswer, item: string, session: string | undefined): Snapshot {
  const { context = {}, drop = [], sessionId, to } = answer;
  const dropped = drop.filter((name) => name !== item).reduce(without, at.context);
  return {
    ...at,
    context: withAll(dropped, without(context, item)),
    sessions: session === undefined || sessionId === undefined ? at.sessions : { ...at.sessions, [session]: sessionId },
    to: at.to ?? to,
  };
}

function childEnd(end: AgentEnd | undefined): ChildEnd | undefined {
  if (end?.ok !== true) return end;
  const { output, content } = end.answer;
  return { ok: true, output: isMap(output) ? output : content === undefined ? {} : { content } };
}
