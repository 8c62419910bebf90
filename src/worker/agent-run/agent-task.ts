/** The handler `agent`: one run of an AI agent as a task. */
import { fault, isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import { AGENT_HANDLER } from '../../flow/agent/definition.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { AgentLoader } from '../agents/load-agent.ts';
import type { AgentRegistry } from '../agents/registry.ts';
import type { AnyTask, DrivenAttempt } from '../define/definition.ts';
import { task } from '../define/task.ts';
import { driveMachine } from '../machine/durable/durable-driver.ts';
import { HooksRegistry } from '../machine/hooks-registry.ts';
import type { AgentCall, RunnableMachine } from '../machine/inline-driver.ts';
import { loadMachine } from '../machine/load-machine.ts';
import type { AttemptSession, RunOutcome } from '../runner/runner.ts';
import { openWorkspace, type TaskWorkspace } from '../workspace/handler-workspace.ts';
import { AGENT_TRIES, type AgentInput, agentInput, gatewayOf, iterationsOf } from './agent-input.ts';
import { agentMachine, inputOf } from './agent-machine.ts';
import { endOf, resultOf } from './agent-result.ts';
import { alteredTurns } from './altered-turns.ts';
import { boundedCall } from './bounded-call.ts';
import { EventLog } from './event-log.ts';
import { secretsOf, withoutSecrets } from './secrets.ts';

export interface AgentTaskOptions {
  readonly world: World;
  readonly agents: AgentRegistry;
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  /** Variables that may go to any address that a task names. Undefined: all of them. */
  readonly sendable?: ReadonlySet<string> | undefined;
  /** Addresses beside public ones. Undefined: all of them. */
  readonly allowHttp?: readonly string[];
  /** Tasks may start programs; default true. */
  readonly programs?: boolean;
  /** Where programs run that have no workspace, and where relative ones begin; default: the folder of the process. */
  readonly folder?: string;
}

/** Hooks belong to machines. */
const NO_HOOKS = new HooksRegistry({ onLog: () => {} });

export function agentTask(options: AgentTaskOptions): AnyTask {
  const definition = task(AGENT_HANDLER, {
    maxAttempts: AGENT_TRIES,
    input: agentInput,
    run: () => {
      throw fault('CONFLICT', { problem: 'an agent needs a worker' });
    },
  });
  const drive = (given: unknown, attempt: DrivenAttempt): Promise<RunOutcome> => driveAgent(given, attempt, options);
  return Object.freeze({ ...definition, drive }) as unknown as AnyTask;
}

async function driveAgent(given: unknown, attempt: DrivenAttempt, options: AgentTaskOptions): Promise<RunOutcome> {
  const { request, signal } = attempt;
  const { world, environment, sendable } = options;
  let input: AgentInput;
  let config: ValueMap;
  try {
    input = await checked(given);
    ({ config } = gatewayOf(input.gateway as Value));
  } catch (error) {
    return { kind: 'giveUp', error };
  }
  let workspace: TaskWorkspace | undefined;
  if (typeof input.workspace === 'object') {
    try {
      workspace = await openWorkspace(input.workspace, attempt.workspaces);
    } catch (error) {
      return { kind: isEngineError(error, 'INVALID_INPUT') ? 'giveUp' : 'failed', error };
    }
  }
  const secrets = secretsOf(config, environment(), sendable);
  const { log, progress } = attempt;
  const events = new EventLog({ timers: world.timers, secrets, log, progress });
  let runnable: RunnableMachine;
  try {
    runnable = await loaded(input, events, workspace, options);
  } catch (error) {
    // Another try would read the same.
    return { kind: 'giveUp', error };
  }
  const session = ending(withoutSecrets(attempt.session, secrets), input, events);
  const run = {
    task: request.id,
    executionId: request.id,
    input: inputOf(input),
    attempt: request.attempt,
    stop: signal,
  };
  try {
    return await driveMachine(runnable, run, {
      world,
      session,
      childTask: () => {
        throw fault('CONFLICT', { problem: 'an agent starts no machines' });
      },
    });
  } finally {
    events.end();
  }
}

async function checked(given: unknown): Promise<AgentInput> {
  const { value, issues } = (await agentInput['~standard'].validate(given)) as {
    readonly value?: AgentInput;
    readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] }[];
  };
  if (issues === undefined) return value as AgentInput;
  const all = issues.map(({ path = [], message }) => `${path.join('.')} ${message}`).join('; ');
  throw fault('INVALID_INPUT', { field: 'input of an agent', problem: all });
}

async function loaded(
  input: AgentInput,
  events: EventLog,
  workspace: TaskWorkspace | undefined,
  options: AgentTaskOptions,
): Promise<RunnableMachine> {
  const { world, agents, environment, sendable, allowHttp, programs = true } = options;
  const folder = workspace?.path ?? options.folder ?? process.cwd();
  const loader = new AgentLoader({
    registry: agents,
    environment,
    sendable,
    world,
    folder,
    programs: programs ? (own) => own : false,
    // A task brings its agent: files of the worker are none of its business.
    read: (path) => Promise.reject(fault('NOT_FOUND', { kind: 'file', id: path })),
    ...(allowHttp === undefined ? {} : { allowHttp }),
  });
  const source = { value: agentMachine(input), folder, name: 'the task' };
  const agent = async (name: string, place: Parameters<typeof loader.agent>[1]): Promise<AgentCall> =>
    around(await loader.agent(name, place), input, { events, workspace, world });
  return loadMachine(source, { hooks: NO_HOOKS, agent });
}

/** The call of the agent, heard by the log, bounded when it is stopped, with the whole of its answer as its output. */
function around(
  call: AgentCall,
  { session, commit }: AgentInput,
  {
    events,
    workspace,
    world: { timers },
  }: { readonly events: EventLog; readonly workspace: TaskWorkspace | undefined; readonly world: World },
): AgentCall {
  return async (command, stop, surroundings) => {
    const asked = session === undefined ? command : { ...command, session, sessionId: session };
    const answer = await boundedCall(timers, stop, () => call(asked, stop, { ...surroundings, told: events.take }));
    // Before its answer is kept: who goes on from that answer gets the folder anew.
    if (commit !== undefined) await workspace?.commitAll(commit);
    if (workspace?.branch !== undefined) await workspace.publish();
    const { context: _, drop: __, sessionId: ___, ...rest } = answer;
    return { ...rest, output: resultOf(answer, events.counts) as unknown as ValueMap };
  };
}

/** Its machine ends with the answer; whether that is the end that was asked for is decided here. */
function ending(session: AttemptSession, input: AgentInput, events: EventLog): AttemptSession {
  const how = { fails: input.on_max_iterations !== 'complete', most: iterationsOf(input) };
  return alteredTurns(session, (turn) => {
    const { then } = turn;
    // The lines of the agent are stored before its lease is gone.
    if (then.go !== 'on') events.end();
    return then.go === 'complete' && isMap(then.result) ? { ...turn, then: endOf(then.result, how) } : turn;
  });
}
