/** One call of an agent for a state of a machine, from the command of the interpreter to its answer. */
import type { World } from '../../core/world.ts';
import { type Execution, readExecution, withMetadata } from '../../flow/agent/execution.ts';
import { type AgentResult, payloadOf } from '../../flow/agent/result.ts';
import { readToolLoop } from '../../flow/agent/tool-loop-options.ts';
import { isList, isMap, type ValueMap } from '../../flow/expression/values.ts';
import type { AgentAnswer, Command } from '../../flow/machine/commands.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import type { AgentAround, AgentCall } from '../machine/inline-driver.ts';
import { AgentFailed, agentFailed } from './agent-failed.ts';
import { executeAgent } from './execution-types.ts';
import type { AgentExecutor, CallOptions } from './executor.ts';
import { CallMemory } from './kept/call-memory.ts';
import { Receipts } from './kept/receipts.ts';
import { SharedLedger } from './ledger.ts';
import type { ConnectedTools } from './mcp/mcp-tools.ts';
import { Meter } from './meter.ts';
import { runToolLoop } from './tool-loop.ts';
import { type AgentTool, ToolBox, type ToolProvider } from './tools.ts';

export interface AgentCallOptions {
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  readonly tools: ReadonlyMap<string, AgentTool>;
}

type AgentCommand = Command & { readonly do: 'agent' };

/** Makes an agent callable by drivers. An error that it gives, or throws, is an error of the state, with what it cost. */
export function agentCall(executor: AgentExecutor, { world, tools }: AgentCallOptions): AgentCall {
  return async (command, stop, around) => {
    const meter = new Meter(world.clock);
    const events = new EventLine(command, around, stop);
    const call: CallOptions = {
      context: command.context,
      sessionId: command.session,
      sessionName: command.sessionId,
      key: command.key,
      signal: stop,
      ...heard(events.onEvent, around.told),
    };
    const execution = withMetadata(readExecution(command.execution), executor.metadata);
    const given: Calling = { executor, command, call, around, meter, execution, world, tools };
    try {
      const calling = { ...given, call: { ...call, connected: await connected(given) } };
      const isLoop = command.toolLoop !== null && command.toolLoop !== undefined && command.toolLoop !== false;
      return { ...(isLoop ? await looped(calling) : await called(calling)), ...meter.spent };
    } catch (error) {
      stop.throwIfAborted();
      throw withSpent(error, meter);
    } finally {
      await events.end();
    }
  };
}

interface Calling extends AgentCallOptions {
  readonly executor: AgentExecutor;
  readonly command: AgentCommand;
  readonly call: CallOptions;
  readonly around: AgentAround;
  readonly meter: Meter;
  readonly execution: Execution;
}

/** Its servers, tried again as its calls are. */
async function connected({
  executor,
  call,
  around,
  execution,
  world,
  meter,
}: Calling): Promise<ConnectedTools | undefined> {
  const { connect } = executor;
  if (connect === undefined) return undefined;
  let tools: ConnectedTools | undefined;
  const run = async (): Promise<AgentResult> => {
    try {
      tools = await connect(around.scope, call.signal);
      return {};
    } catch (error) {
      call.signal.throwIfAborted();
      const message = error instanceof Error ? error.message : String(error);
      return { error: { code: 'server_error', type: 'McpError', message, retryable: true } };
    }
  };
  const retry: Execution = execution.type === 'retry' ? { ...execution, retryOnEmpty: false } : { type: 'default' };
  const { error } = await executeAgent(retry, run, { world, metadata: {}, signal: call.signal });
  if (error !== undefined) throw agentFailed(error, around.machine.specVersion, meter.spent);
  return tools;
}

async function called(calling: Calling): Promise<AgentAnswer> {
  const { executor, command, call, around, meter, execution, world } = calling;
  const numbered = keysFrom({ ...call, ...kept(calling) });
  const result = await executeAgent(execution, () => meter.call(() => executor.execute(command.input, numbered())), {
    world,
    metadata: executor.metadata,
    signal: call.signal,
  });
  if (result.error !== undefined) throw agentFailed(result.error, around.machine.specVersion, meter.spent);
  const { content, session_id: session, metadata } = result;
  const context = await told(result, command, around);
  return {
    output: payloadOf(result),
    ...(content === undefined ? {} : { content }),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(metadata === undefined ? {} : { about: metadata }),
    ...changed(command.context, context),
  };
}

/** Several calls at once, or candidates of a vote, are each work of their own: none goes on with that of another. */
function kept({ execution, call: { key }, around: { ledger, ask, told } }: Calling): Partial<CallOptions> {
  if (execution.type !== 'default' && execution.type !== 'retry') return {};
  const shared = new SharedLedger(ledger);
  return {
    ask,
    memory: new CallMemory(shared.part('g/'), key),
    receipts: new Receipts({ ledger: shared.part('g/'), key, ask, told }),
  };
}

/** A key for each call: two samples, or two tries, are not the same work. Another attempt at the step gives them the same keys. */
function keysFrom(call: CallOptions): () => CallOptions {
  let count = 0;
  return () => {
    const place = count++;
    return place === 0 ? call : { ...call, key: `${call.key}/${place}` };
  };
}

/** Hooks hear of tools that an agent has called itself. That cannot be stopped any more. */
async function told(result: AgentResult, { state, context }: AgentCommand, { hooks }: AgentAround): Promise<ValueMap> {
  const { tool_calls: calls = [], metadata = {} } = result;
  let after: ValueMap = context;
  if (calls.length > 0 && hooks.has('on_tool_calls', state)) after = await hooks.toolCalls(state, calls, after);
  const results = isList(metadata['tool_results']) ? metadata['tool_results'] : [];
  if (!hooks.has('on_tool_result', state)) return after;
  for (const one of results) after = await hooks.toolResult(state, one, after);
  return after;
}

async function looped(calling: Calling): Promise<AgentAnswer> {
  const { executor, command, call, around, meter, execution, world, tools } = calling;
  const { machine, hooks, ledger, transition } = around;
  const { state, agent } = command;
  const withTools = executor.executeWithTools?.bind(executor);
  if (withTools === undefined) {
    throw new StateError('AgentError', `the agent "${agent}" calls its tools itself: take tool_loop out of "${state}"`);
  }
  const provider = await hooks.toolProvider(state);
  const retry: Execution = execution.type === 'retry' ? { ...execution, retryOnEmpty: false } : { type: 'default' };
  const end = await runToolLoop(
    {
      agent,
      state,
      input: command.input,
      call,
      turn: (input, turn, own) => {
        const numbered = keysFrom(own);
        return executeAgent(retry, () => meter.call(() => withTools(input, turn, numbered())), {
          world,
          metadata: executor.metadata,
          signal: own.signal,
        });
      },
    },
    {
      options: readToolLoop(command.toolLoop, machine.specVersion, machine.settings),
      tools: await ToolBox.of(tools, isObject(provider) ? provider : undefined, executor.tools, call.connected),
      ledger,
      ask: around.ask,
      told: around.told,
      meter,
      world,
      transition,
      hooks: {
        has: (hook) => hooks.has(hook, state),
        call: (hook, given, context) =>
          hook === 'on_tool_calls' ? hooks.toolCalls(state, given, context) : hooks.toolResult(state, given, context),
      },
    },
  );
  if (end.failed !== undefined) throw agentFailed(end.failed, machine.specVersion, meter.spent);
  const { content, to, sessionId } = end;
  return {
    output: end.output,
    ...(content === undefined ? {} : { content }),
    ...(to === undefined ? {} : { to }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...changed(command.context, end.context),
  };
}

const isObject = (value: unknown): value is ToolProvider => typeof value === 'object' && value !== null;

/** What a context has become, as the interpreter takes it. What the runtime says of itself nobody else writes. */
function changed(before: ValueMap, after: ValueMap): Pick<AgentAnswer, 'context' | 'drop'> {
  if (before === after) return {};
  const { machine: _, ...context } = after;
  const drop = Object.keys(before).filter((name) => name !== 'machine' && !Object.hasOwn(after, name));
  return { context, ...(drop.length === 0 ? {} : { drop }) };
}

type Hearing = ((event: ValueMap) => void) | undefined;

function heard(hooks: Hearing, told: Hearing): Pick<CallOptions, 'onEvent'> {
  if (hooks === undefined || told === undefined) {
    const onEvent = hooks ?? told;
    return onEvent === undefined ? {} : { onEvent };
  }
  return {
    onEvent: (event) => {
      hooks(event);
      told(event);
    },
  };
}

function withSpent(error: unknown, { spent }: Meter): unknown {
  if (error instanceof AgentFailed) return error;
  if (error instanceof StateError) return new AgentFailed(error.type, error.message, { spent });
  // A `code` says more than the name of the class, as everywhere in drivers.
  if (!(error instanceof Error)) return new AgentFailed('Error', String(error), { spent });
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const type = code ?? error.name;
  const also = [error.name, 'AgentError', 'RuntimeError'].filter((name) => name !== type);
  return Object.assign(new AgentFailed(type, error.message, { spent, also }), { cause: error });
}

/** Tells hooks what an agent says while it works, one after the other, until the answer is no longer wanted. What they do with it changes nothing. */
class EventLine {
  readonly onEvent: ((event: ValueMap) => void) | undefined;
  #line: Promise<void> = Promise.resolve();

  constructor({ state, context }: AgentCommand, { hooks }: AgentAround, stop: AbortSignal) {
    if (!hooks.has('on_agent_stream_event', state)) return;
    this.onEvent = (event) => {
      if (!isMap(event)) return;
      this.#line = this.#line
        .then(() => (stop.aborted ? undefined : hooks.streamEvent(state, event, context)))
        .catch(() => {});
    };
  }

  async end(): Promise<void> {
    await this.#line;
  }
}
