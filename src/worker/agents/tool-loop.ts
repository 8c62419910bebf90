/**
 * An agent that calls tools, turn by turn, until it answers without a call or a bound is reached.
 *
 *   turn ──answer──> ended
 *    ├──calls──> on_tool_calls ──> call, on_tool_result, transitions; for each ──> steering ──> turn
 *    └──bound──> a last turn without tools, if there is no text yet ──> ended
 *
 * It runs over a ledger: an attempt that finds entries of an earlier one takes them instead of calling the model, a tool or a hook again.
 */
import type { World } from '../../core/world.ts';
import type { AgentResult, Message, ToolCall } from '../../flow/agent/result.ts';
import type { ReplayPolicy, ToolLoopOptions } from '../../flow/agent/tool-loop-options.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import type { AgentCallRecord } from '../../flow/machine/commands.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import type { CallOptions, ToolTurn } from './executor.ts';
import type { AskPerson } from './kept/person.ts';
import { effectHash } from './kept/receipts.ts';
import { settleUncertain } from './kept/uncertain.ts';
import { type Ledger, LedgerWriter } from './ledger.ts';
import { type Meter, sum } from './meter.ts';
import type { ToolResult } from './tool-result.ts';
import type { ToolBox } from './tools.ts';
import { withinMs } from './within.ts';

/** What a loop needs besides its agent. */
export interface ToolLoopSurroundings {
  readonly options: ToolLoopOptions;
  readonly tools: ToolBox;
  readonly ledger: Ledger;
  readonly meter: Meter;
  readonly world: Pick<World, 'clock' | 'timers'>;
  readonly hooks: ToolLoopHooks;
  readonly ask?: AskPerson | undefined;
  readonly told?: ((event: ValueMap) => void) | undefined;
  /** The state that a conditional transition leads to by now. */
  readonly transition: (context: ValueMap) => string | undefined;
}

export interface ToolLoopHooks {
  has(hook: 'on_tool_calls' | 'on_tool_result'): boolean;
  /** Resolves to the context as the hook leaves it. */
  call(hook: 'on_tool_calls' | 'on_tool_result', given: Value, context: ValueMap): Promise<ValueMap>;
}

export interface ToolLoopCall {
  readonly agent: string;
  readonly state: string;
  readonly input: Value;
  readonly call: CallOptions;
  /** Counts itself in the meter. */
  readonly turn: (input: Value, turn: ToolTurn, call: CallOptions) => Promise<AgentResult>;
}

type Stop = 'max_turns' | 'max_tool_calls' | 'timeout' | 'cost_limit' | 'aborted' | 'transition';

export interface ToolLoopEnd {
  readonly output: ValueMap;
  readonly content: string | undefined;
  /** The context as hooks and the loop leave it. */
  readonly context: ValueMap;
  readonly to: string | undefined;
  /** An error of the agent, which ends the state. */
  readonly failed: AgentResult['error'];
  readonly sessionId: string | undefined;
}

/** What the loop itself keeps in the context. Those of an earlier loop do not count. */
const OWN = ['_tool_loop_stop', '_tool_loop_next_state', '_abort_tool_loop', '_skip_tools'] as const;
const CHAIN = ['_tool_loop_chain', '_tool_loop_chain_state', '_tool_loop_chain_agent'] as const;
const LIMITS: ReadonlySet<Stop> = new Set(['max_turns', 'max_tool_calls', 'timeout', 'cost_limit']);
const MOST_CHAIN = 16 * 1024 * 1024;
const LAST_PROMPT =
  '[System: tool use limit reached. Provide your final response now using the information gathered so far.]';

/** Runs the loop to its end. Rejects with a `StateError` `StepUncertain` if nobody knows whether a tool has acted. */
export async function runToolLoop(given: ToolLoopCall, around: ToolLoopSurroundings): Promise<ToolLoopEnd> {
  return new ToolLoop(given, around).run();
}

class ToolLoop {
  readonly #given: ToolLoopCall;
  readonly #around: ToolLoopSurroundings;
  readonly #ledger: LedgerWriter;
  readonly #chain: Message[];
  readonly #goesOn: boolean;
  #context: Record<string, Value>;
  #began: number;
  #turns = 0;
  #calls = 0;
  #cost = 0;
  #messages = 0;
  #measured = 0;
  #length = 0;
  #content: string | undefined;
  #session: string | undefined;
  #stop: Stop | undefined;
  #to: string | undefined;
  #failed: AgentResult['error'];

  constructor(given: ToolLoopCall, around: ToolLoopSurroundings) {
    this.#given = given;
    this.#around = around;
    this.#ledger = new LedgerWriter(around.ledger);
    this.#began = around.world.clock.monotonic();
    this.#session = given.call.sessionId;
    const {
      _tool_loop_chain: chain,
      _tool_loop_chain_state: state,
      _tool_loop_chain_agent: agent,
    } = given.call.context;
    this.#goesOn = isList(chain) && chain.length > 0 && state === given.state && agent === given.agent;
    this.#chain = this.#goesOn ? (chain as readonly Value[]).filter(isMap) : [];
    this.#context = { ...given.call.context };
    for (const name of [...OWN, ...CHAIN]) delete this.#context[name];
  }

  async run(): Promise<ToolLoopEnd> {
    while (this.#stop === undefined && this.#failed === undefined) {
      this.#stop = this.#boundReached();
      if (this.#stop !== undefined) break;
      this.#refuseLong();
      const { options, tools } = this.#around;
      const isFirst = this.#turns === 0 && !this.#goesOn;
      const offered = tools.definitions((name) => this.#isAllowed(name, options));
      const result = await this.#turn(isFirst, offered);
      this.#turns++;
      this.#around.told?.({ type: 'iteration_end', data: { iteration: this.#turns, tool_calls_count: this.#calls } });
      this.#tell(result);
      if (result.error !== undefined) this.#failed = result.error;
      else if (await this.#answered(result, isFirst)) break;
    }
    await this.#lastTurn();
    await this.#ledger.settle();
    return this.#end();
  }

  #boundReached(): Stop | undefined {
    const { maxTurns, totalTimeoutMs, maxCost } = this.#around.options;
    if (totalTimeoutMs > 0 && this.#elapsed() >= totalTimeoutMs) return 'timeout';
    if (maxTurns > 0 && this.#turns >= maxTurns) return 'max_turns';
    return maxCost > 0 && this.#cost >= maxCost ? 'cost_limit' : undefined;
  }

  /** The chain goes with every turn, and is kept. A loop that has no bound of its own ends here. */
  #refuseLong(): void {
    for (const message of this.#chain.slice(this.#measured)) this.#length += JSON.stringify(message).length;
    this.#measured = this.#chain.length;
    if (this.#length <= MOST_CHAIN) return;
    throw new StateError('ValueTooLarge', `the chain of the tool loop has more than ${MOST_CHAIN} characters`);
  }

  #elapsed(): number {
    return this.#around.world.clock.monotonic() - this.#began;
  }

  /** Takes an answer. True: it is the last one. */
  async #answered(result: AgentResult, isFirst: boolean): Promise<boolean> {
    const { rendered_user_prompt: prompt, tool_calls: calls = [], content } = result;
    if (isFirst && prompt !== undefined) this.#chain.push({ role: 'user', content: prompt });
    const named = withOwnIds(calls, this.#turns);
    this.#chain.push(assistantMessage(content, named));
    this.#content = content;
    if (result.finish_reason !== 'tool_use' || named.length === 0) return true;
    const { maxToolCalls, maxCost } = this.#around.options;
    if (maxToolCalls > 0 && this.#calls + named.length > maxToolCalls) this.#stop = 'max_tool_calls';
    // Before tools act for a loop that has no money left.
    else if (maxCost > 0 && this.#cost >= maxCost) this.#stop = 'cost_limit';
    else await this.#callTools(named);
    if (this.#stop !== undefined) return true;
    this.#steer();
    return false;
  }

  async #callTools(calls: readonly ToolCall[]): Promise<void> {
    await this.#hook('on_tool_calls', `calls:${this.#turns}`, calls);
    if (this.#context['_abort_tool_loop'] === true) {
      this.#stop = 'aborted';
      return;
    }
    const skipped = this.#take('_skip_tools');
    const skip = new Set(isList(skipped) ? skipped : [skipped]);
    for (const call of calls) {
      this.#refuseLong();
      await this.#callTool(call, skip.has(call.id) || skip.has(call.name));
      if (this.#context['_abort_tool_loop'] === true) this.#stop = 'aborted';
      else {
        this.#to = this.#around.transition({ ...this.#context });
        if (this.#to !== undefined) this.#stop = 'transition';
      }
      if (this.#stop !== undefined) return;
    }
  }

  async #callTool(call: ToolCall, isSkipped: boolean): Promise<void> {
    const { id, name } = call;
    const say = (content: string): void => void this.#chain.push({ role: 'tool', tool_call_id: id, content });
    if (isSkipped) return say(`Tool '${name}' was skipped by policy.`);
    if (!this.#isAllowed(name, this.#around.options)) return say(`Tool '${name}' is not allowed.`);
    const { told } = this.#around;
    told?.({ type: 'tool_call', data: { id, name, input: call.arguments } });
    const { content, isError } = await this.#resultOf(call);
    told?.({ type: 'tool_result', data: { tool_call_id: id, result: content, is_error: isError } });
    this.#calls++;
    say(content);
    this.#context['_tool_calls_count'] = this.#calls;
    const result = { tool_call_id: id, name, arguments: call.arguments, content, is_error: isError };
    await this.#hook('on_tool_result', `result:${this.#turns}:${id}`, result);
  }

  #isAllowed(name: string, { allowed, denied }: ToolLoopOptions): boolean {
    const names = this.#around.tools.namesOf(name);
    return !names.some((one) => denied.has(one)) && (allowed.size === 0 || names.some((one) => allowed.has(one)));
  }

  /** From the ledger, or by the tool. An effect that may have happened already is left to its policy. */
  async #resultOf(call: ToolCall): Promise<ToolResult> {
    const place = `${this.#turns}:${call.id}`;
    const known = await this.#ledger.read(`t:${place}`);
    if (known !== undefined) {
      this.#replayed(known);
      return { content: String(known['content']), isError: known['isError'] === true };
    }
    const policy = this.#policyOf(call.name);
    const again = (await this.#ledger.read(`b:${place}`)) !== undefined;
    const before = again ? await this.#cutOff(call, place, policy) : await this.#doneBefore(call, policy);
    if (before !== undefined) return before;
    if (policy !== 'repeat' && !again) {
      this.#ledger.note({ key: `b:${place}`, kind: 'mark', value: { tool: call.name, arguments: call.arguments } });
    }
    await this.#ledger.settle();
    const began = this.#around.world.clock.monotonic();
    const result = await this.#run(call, place, again);
    const ms = Math.round(this.#around.world.clock.monotonic() - began);
    this.#ledger.note({ key: `t:${place}`, kind: 'element', value: { ...result, ms } });
    this.#noteReceipt(call, policy, result);
    return result;
  }

  /** For the same call later in this loop. */
  #noteReceipt(call: ToolCall, policy: ReplayPolicy, result: ToolResult): void {
    if (!this.#around.options.once || policy !== 'exact' || result.isError) return;
    this.#ledger.note({ key: receiptKey(call), kind: 'element', value: { ...result } });
  }

  /** It was under way when an earlier attempt ended. Undefined: it is made again. */
  async #cutOff(call: ToolCall, place: string, policy: ReplayPolicy): Promise<ToolResult | undefined> {
    const { tools, options, ask, told } = this.#around;
    const { signal, key: step } = this.#given.call;
    const key = `${step}/t:${place}`;
    const { name, arguments: args } = call;
    let nth = 0;
    while ((await this.#ledger.read(`x:${place}:${nth}`)) !== undefined) nth++;
    told?.({ type: 'tool_abandoned', data: { id: call.id, name } });
    const settled = await settleUncertain({
      name,
      args,
      replay: policy,
      place: `${place}:${nth}`,
      key,
      lookup: tools.lookup(name, args, { id: call.id, key, signal }),
      ask: options.uncertain === 'ask' ? ask : undefined,
    });
    this.#ledger.note({ key: `x:${place}:${nth}`, kind: 'mark', value: { tool: name, abandoned: true } });
    if (settled.kind === 'again') return undefined;
    const { value } = settled;
    const result = isMap(value) && typeof value['content'] === 'string' ? value : { content: contentOf(value) };
    const promoted = { content: String(result['content']), isError: result['isError'] === true };
    this.#ledger.note({ key: `t:${place}`, kind: 'element', value: { ...promoted, ms: 0, promoted: true } });
    this.#noteReceipt(call, policy, promoted);
    return promoted;
  }

  /** The same call, made earlier in this loop, if such a call is answered by its receipt. */
  async #doneBefore(call: ToolCall, policy: ReplayPolicy): Promise<ToolResult | undefined> {
    if (!this.#around.options.once || policy !== 'exact') return undefined;
    // A call of this turn may have made it.
    await this.#ledger.settle();
    const known = await this.#ledger.read(receiptKey(call));
    return known === undefined ? undefined : { content: String(known['content']), isError: false };
  }

  #policyOf(name: string): ReplayPolicy {
    const { options, tools } = this.#around;
    const said = tools.namesOf(name).find((one) => options.policies.has(one));
    return options.policies.get(said ?? name) ?? tools.policyOf(name);
  }

  async #run(call: ToolCall, place: string, again: boolean): Promise<ToolResult> {
    const { options, tools, world } = this.#around;
    const { signal, key } = this.#given.call;
    const ms = options.toolTimeoutMs;
    try {
      return await withinMs(world.timers, ms, signal, (own) =>
        tools.run(call.name, call.arguments, {
          id: call.id,
          key: `${key}/t:${place}`,
          again,
          signal: own,
          context: { ...this.#context },
        }),
      );
    } catch (error) {
      signal.throwIfAborted();
      const isLate = error instanceof StateError && error.type === 'TimeoutError';
      const why = error instanceof Error ? error.message : String(error);
      const content = isLate
        ? `Tool '${call.name}' timed out after ${ms / 1000}s`
        : `Error executing '${call.name}': ${why}`;
      return { content, isError: true };
    }
  }

  /** One answer of the model: from the ledger, or by a call. */
  async #turn(isFirst: boolean, tools: ToolTurn['tools']): Promise<AgentResult> {
    const key = `m:${this.#messages++}`;
    const { meter } = this.#around;
    const known = await this.#ledger.read(key);
    if (known !== undefined) {
      const records = known['records'] as readonly AgentCallRecord[];
      meter.replay(records);
      this.#replayed(known);
      return this.#counted(known['result'] as AgentResult, records);
    }
    await this.#ledger.settle();
    const { input, turn, call } = this.#given;
    const before = meter.count;
    const began = this.#around.world.clock.monotonic();
    const result = await turn(
      isFirst ? input : {},
      { tools, messages: isFirst ? undefined : [...this.#chain] },
      { ...call, context: { ...this.#context }, sessionId: this.#session, key: `${call.key}/${key}` },
    );
    const records = meter.since(before);
    // An error ends the state, so that a later attempt asks again.
    if (result.error === undefined) {
      const ms = Math.round(this.#around.world.clock.monotonic() - began);
      this.#ledger.note({ key, kind: 'element', value: { result: storable(result), records, ms }, usage: records });
    }
    return this.#counted(result, records);
  }

  #counted(result: AgentResult, records: readonly AgentCallRecord[]): AgentResult {
    this.#cost += sum(records, ({ cost }) => cost);
    this.#session = result.session_id ?? this.#session;
    return result;
  }

  /** The time of an earlier attempt counts as well. */
  #replayed({ ms }: ValueMap): void {
    if (typeof ms === 'number') this.#began -= ms;
  }

  async #hook(hook: 'on_tool_calls' | 'on_tool_result', place: string, given: Value): Promise<void> {
    const { hooks } = this.#around;
    if (!hooks.has(hook)) return;
    const key = `c:${place}`;
    const known = await this.#ledger.read(key);
    if (known !== undefined) {
      this.#context = { ...known };
      return;
    }
    await this.#ledger.settle();
    this.#context = { ...(await hooks.call(hook, given, { ...this.#context })) };
    this.#ledger.note({ key, kind: 'element', value: this.#context });
  }

  #steer(): void {
    const messages = this.#take('_steering_messages');
    for (const message of isList(messages) ? messages : []) {
      if (isMap(message)) this.#chain.push(message);
      else if (typeof message === 'string') this.#chain.push({ role: 'user', content: message });
    }
  }

  #take(name: string): Value {
    const value = this.#context[name];
    delete this.#context[name];
    return value;
  }

  /** Of a loop that a bound has stopped before there was a text. That it fails is no reason to lose what was gathered. */
  async #lastTurn(): Promise<void> {
    if (this.#stop === undefined || !LIMITS.has(this.#stop) || (this.#content ?? '').trim() !== '') return;
    this.#answerOpenCalls();
    this.#chain.push({ role: 'user', content: LAST_PROMPT });
    let result: AgentResult;
    try {
      result = await this.#turn(false, []);
    } catch (error) {
      this.#given.call.signal.throwIfAborted();
      if (error instanceof StateError) throw error;
      return;
    }
    const { content, error } = result;
    if (error !== undefined || content === undefined || content.trim() === '') return;
    this.#chain.push(assistantMessage(content, []));
    this.#content = content;
    this.#context['_tool_loop_content'] = content;
  }

  /** Endpoints refuse a chain in which a call has no result. */
  #answerOpenCalls(): void {
    const last = this.#chain.at(-1);
    const calls = isList(last?.['tool_calls']) ? last['tool_calls'] : [];
    for (const call of calls) {
      if (!isMap(call)) continue;
      this.#chain.push({
        role: 'tool',
        tool_call_id: call['id'],
        content: 'Not run: the limit of this loop is reached.',
      });
    }
  }

  #tell(result: AgentResult): void {
    this.#context['_tool_loop_turns'] = this.#turns;
    this.#context['_tool_loop_cost'] = this.#cost;
    this.#context['_tool_calls_count'] = this.#calls;
    this.#context['_tool_loop_content'] = result.content ?? null;
    this.#context['_tool_loop_usage'] = result.usage ?? null;
  }

  #end(): ToolLoopEnd {
    const { agent, state } = this.#given;
    const context = {
      ...this.#context,
      _tool_loop_cost: this.#cost,
      _tool_loop_chain: [...this.#chain],
      _tool_loop_chain_state: state,
      _tool_loop_chain_agent: agent,
      ...(this.#stop === undefined ? {} : { _tool_loop_stop: this.#stop }),
      ...(this.#to === undefined ? {} : { _tool_loop_next_state: this.#to }),
    };
    return {
      output: {
        content: this.#content ?? null,
        _tool_calls_count: this.#calls,
        _tool_loop_turns: this.#turns,
        _tool_loop_cost: this.#cost,
        _tool_loop_stop: this.#stop ?? 'complete',
      },
      content: this.#content,
      context,
      to: this.#to,
      failed: this.#failed,
      sessionId: this.#session,
    };
  }
}

const receiptKey = ({ name, arguments: args }: ToolCall): string => `r:${effectHash(name, args)}`;

const contentOf = (value: Value): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

/** Results are told apart by the ids of their calls, and a model may give none, or the same one twice. */
function withOwnIds(calls: readonly ToolCall[], turn: number): readonly ToolCall[] {
  const seen = new Set(['']);
  return calls.map((call, i) => {
    const one = seen.has(call.id) ? { ...call, id: `call_${turn}_${i}` } : call;
    seen.add(one.id);
    return one;
  });
}

function assistantMessage(content: string | undefined, calls: readonly ToolCall[]): Message {
  return {
    role: 'assistant',
    content: content ?? '',
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: args }) => ({
            id,
            type: 'function',
            function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
          })),
        }),
  };
}

/** What another attempt needs of an answer: no headers, no events. */
function storable(result: AgentResult): AgentResult {
  const { provider_data: _, metadata: __, rate_limit: ___, ...rest } = result;
  return rest;
}
