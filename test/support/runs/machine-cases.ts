/** Machines with what they give, however they are driven. */
import type { AgentFunction } from '../../../src/worker/agents/registry.ts';
import type { AgentTool } from '../../../src/worker/agents/tools.ts';
import type { HooksFactory, MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';

export interface MachineCase {
  readonly data: object;
  readonly version?: string;
  readonly input?: object;
  readonly hooks?: () => MachineHooks;
  /** By the name "named". */
  readonly named?: HooksFactory;
  readonly agents?: () => Readonly<Record<string, AgentFunction>>;
  readonly tools?: () => Readonly<Record<string, AgentTool['run']>>;
  /** Sent before it begins. */
  readonly signals?: readonly (readonly [channel: string, data: unknown])[];
  /** Sent to all that wait there, once nothing else can be done. */
  readonly broadcast?: readonly [channel: string, data: unknown];
  /** What both give. */
  readonly gives: unknown;
}

const to = (state: string, condition?: string): object =>
  condition === undefined ? { to: state } : { to: state, condition };
const peer = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });
const last = (given: readonly unknown[]): Record<string, unknown> => given.at(-1) as Record<string, unknown>;

const adding = (): MachineHooks => ({
  onAction: (...given: readonly unknown[]) => ({ count: Number(last(given)['count'] ?? 0) + 1 }),
});
const failing = (name: string): MachineHooks => ({
  onAction: () => {
    throw Object.assign(new Error('it broke'), { name });
  },
});
const doubling = peer({ states: { end: { type: 'final', output: { twice: '{{ input.n * 2 }}' } } } });
const broken = peer({ states: { a: { transitions: [to('a', 'input.never')] } } });
const slow = peer({ states: { a: { wait_for: 'never', transitions: [to('b')] }, b: { type: 'final' } } });

/** It ends after so many timeouts, and says as which of its kind. */
const counts = peer({
  context: { left: '{{ input.n }}', n: '{{ input.n }}' },
  states: {
    wait: { type: 'initial', wait_for: 'never/{{ context.n }}', timeout: 60, on_error: { TimeoutError: 'less' } },
    less: {
      output_to_context: { left: '{{ context.left - 1 }}' },
      transitions: [to('done', 'context.left <= 0'), to('wait')],
    },
    done: { action: 'done', transitions: [to('end')] },
    end: { type: 'final', output: { n: '{{ context.n }}', place: '{{ context.place }}' } },
  },
});
const places = (): MachineHooks => {
  let place = 0;
  return { onAction: () => ({ place: ++place }) };
};
const hears = peer({
  states: {
    hear: { wait_for: 'news', output_to_context: { heard: '{{ output.heard }}' }, transitions: [to('end')] },
    end: { type: 'final', output: { heard: '{{ context.heard }}' } },
  },
});
const answers = (what: string): object => peer({ states: { end: { type: 'final', output: { what } } } });

const errorOf = (onError: unknown): object => ({
  states: {
    a: { action: 'x', ...(onError === undefined ? {} : { on_error: onError }), transitions: [to('end')] },
    other: { type: 'final', output: { type: '{{ context.last_error_type }}', said: '{{ context.last_error }}' } },
    end: { type: 'final' },
  },
});
const each = (more: object, states: object = {}): object => ({
  machines: {
    doubling,
    broken,
    never: broken,
    slow,
    counts,
    hears,
    hooked,
    a: answers('a'),
    b: answers('b'),
    c: answers('c'),
  },
  context: { list: '{{ input.list }}' },
  states: {
    all: {
      foreach: '{{ context.list }}',
      as: 'n',
      machine: 'doubling',
      input: { n: '{{ n }}' },
      output_to_context: { got: '{{ output }}' },
      transitions: [to('end')],
      ...more,
    },
    ...states,
    end: { type: 'final', output: { got: '{{ context.got }}' } },
  },
});
const waiting = {
  states: {
    ask: {
      wait_for: 'approval/{{ input.id }}',
      output_to_context: { ok: '{{ output.ok }}', value: '{{ output.value }}' },
      transitions: [to('yes', 'context.ok'), to('no')],
    },
    yes: { type: 'final', output: { answer: 'yes' } },
    no: { type: 'final', output: { answer: 'no', value: '{{ context.value }}' } },
  },
};

const hooked = peer({
  hooks: { name: 'named', args: { by: '{{ input.by }}' } },
  states: { a: { action: 'x', transitions: [to('end')] }, end: { type: 'final', output: { got: 'context.got' } } },
});

/** An agent that is tried again. */
const trying = (execution: object): object => ({
  agents: { writer: { type: 'function' } },
  states: {
    write: {
      agent: 'writer',
      execution: { type: 'retry', ...execution },
      output_to_context: { calls: '{{ output.calls }}' },
      on_error: 'failed',
      transitions: [to('end')],
    },
    failed: { type: 'final', output: { said: '{{ context.last_error }}' } },
    end: { type: 'final', output: { calls: '{{ context.calls }}' } },
  },
});
/** It succeeds with the call of a number. */
const busyUntil = (good: number) => (): Readonly<Record<string, AgentFunction>> => {
  let calls = 0;
  const writer: AgentFunction = () => {
    if (++calls < good) throw new Error(`busy ${calls}`);
    return { output: { calls } };
  };
  return { writer };
};

/** An agent with tools, twice if there is a second state. */
const digging = (loop: object, dig: object = {}, more: object = {}): object => ({
  agents: { digger: { type: 'function' } },
  context: { found: [] },
  states: {
    dig: {
      type: 'initial',
      agent: 'digger',
      tool_loop: { policies: { look: 'repeat' }, ...loop },
      output_to_context: { stop: '{{ context._tool_loop_stop }}', said: '{{ output.content }}' },
      transitions: [to('end')],
      ...dig,
    },
    ...more,
    end: {
      type: 'final',
      output: { stop: '{{ context.stop }}', said: '{{ context.said }}', calls: '{{ context._tool_calls_count }}' },
    },
  },
});
/** Calls a tool in so many turns, and then says what its tools have said. Without tools, or after a bound, it says so. */
const digger = (turns: number) => (): Readonly<Record<string, AgentFunction>> => ({
  digger: (_input, { messages = [], tools = [] }) => {
    const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    if (tools.length === 0) return { content: `no tools: ${told.join(', ')}`, finish_reason: 'stop' };
    if (turn >= turns) return { content: told.join(', '), finish_reason: 'stop' };
    return { finish_reason: 'tool_use', tool_calls: [{ id: `call-${turn}`, name: 'look', arguments: { n: turn } }] };
  },
});
/** It calls a tool whether it is offered or not, and says what it is told. */
const stubborn = (): Readonly<Record<string, AgentFunction>> => ({
  digger: (_input, { messages = [] }) => {
    const told = messages.find(({ role }) => role === 'tool');
    if (told !== undefined) return { content: told.content, finish_reason: 'stop' };
    return { finish_reason: 'tool_use', tool_calls: [{ id: 'a', name: 'look', arguments: { n: 0 } }] };
  },
});
const looking = (): Readonly<Record<string, AgentTool['run']>> => ({ look: ({ n }) => `seen ${String(n)}` });

/** An agent that is asked for each item of a list. */
const asking = (more: object, settings: object = {}): object => ({
  agents: { writer: { type: 'function' } },
  settings,
  context: { list: '{{ input.list }}' },
  states: {
    ask: {
      foreach: '{{ context.list }}',
      as: 'n',
      agent: 'writer',
      input: { n: '{{ n }}', of: '{{ context.list | length }}' },
      output_to_context: { got: '{{ output }}' },
      on_error: 'failed',
      transitions: [to('end')],
      ...more,
    },
    failed: { type: 'final', output: { type: '{{ context.last_error_type }}', said: '{{ context.last_error }}' } },
    end: { type: 'final', output: { got: '{{ context.got }}', item: '{{ context.n }}' } },
  },
});
/** It squares numbers, and does not like 13. The larger the number, the sooner it answers; without end it never does. */
const squaring = (): Readonly<Record<string, AgentFunction>> => ({
  writer: async (input, { signal }) => {
    const n = Number(input['n']);
    for (let turn = 10 - n; turn > 0; turn--) await Promise.resolve();
    if (n === 13) throw Object.assign(new Error('no 13'), { name: 'Unlucky' });
    if (n === 99) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { output: { square: n * n, of: input['of'] } };
  },
});
/** It says which of its conversations it goes on with, and that it has done so. */
const talking = (): Readonly<Record<string, AgentFunction>> => ({
  writer: async (input, { sessionId }) => {
    await Promise.resolve();
    const said = `${sessionId ?? 'new'}+${String(input['n'])}`;
    return { output: { said }, session_id: said };
  },
});
/** How many of it are under way at once, at most. */
const crowding = (): Readonly<Record<string, AgentFunction>> => {
  let open = 0;
  let most = 0;
  return {
    writer: async () => {
      most = Math.max(most, ++open);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      open--;
      return { output: { most } };
    },
  };
};

export const MACHINE_CASES: Readonly<Record<string, MachineCase>> = {
  'a loop with an action': {
    data: {
      context: { count: 0 },
      states: {
        up: { action: 'up', transitions: [to('end', 'context.count >= 4'), to('up')] },
        end: { type: 'final', output: { count: '{{ context.count }}', step: '{{ context.machine.step }}' } },
      },
    },
    hooks: adding,
    gives: { count: 4, step: 5 },
  },
  'states that only route, more than fifty of them': {
    data: {
      context: { n: 0 },
      states: {
        a: { output_to_context: { n: '{{ context.n + 1 }}' }, transitions: [to('end', 'context.n >= 120'), to('a')] },
        end: { type: 'final', output: { n: '{{ context.n }}' } },
      },
    },
    gives: { n: 120 },
  },
  'an error with a route by its name': {
    data: errorOf('other'),
    hooks: () => failing('DiskError'),
    gives: { type: 'DiskError', said: 'it broke' },
  },
  'an error with a route by its type': {
    data: errorOf({ DiskError: 'other', default: 'end' }),
    hooks: () => failing('DiskError'),
    gives: { type: 'DiskError', said: 'it broke' },
  },
  'an error with the default route': {
    data: errorOf({ NetError: 'end', default: 'other' }),
    hooks: () => failing('DiskError'),
    gives: { type: 'DiskError', said: 'it broke' },
  },
  'an error with no route': {
    data: errorOf(undefined),
    hooks: () => failing('DiskError'),
    gives: { failed: 'DiskError', message: 'it broke', state: 'a' },
  },
  'an error that a hook routes': {
    data: errorOf(undefined),
    hooks: () => ({ ...failing('DiskError'), onError: () => 'other' }),
    gives: { type: 'DiskError', said: 'it broke' },
  },
  'a list of machines in order': {
    data: each({}),
    input: { list: [3, 1, 2] },
    gives: { got: [{ twice: 6 }, { twice: 2 }, { twice: 4 }] },
  },
  'a list of machines by their keys': {
    data: each({ key: 'k{{ n }}' }),
    input: { list: [1, 2] },
    gives: { got: { k1: { twice: 2 }, k2: { twice: 4 } } },
  },
  'two items with one key': {
    data: each({ key: 'k' }),
    input: { list: [1, 2] },
    gives: { failed: 'DuplicateKey', state: 'all' },
  },
  'no items': { data: each({}), input: { list: [] }, gives: { got: [] } },
  'a machine that fails among others': {
    data: each({ foreach: undefined, machine: ['doubling', 'broken'], input: { n: 4 } }),
    input: { list: [] },
    gives: {
      got: { doubling: { twice: 8 }, broken: { _error: 'no transition of "a" matches', _error_type: 'NoTransition' } },
    },
  },
  'a machine that fails alone': {
    data: each({ foreach: undefined, machine: 'broken', input: {} }),
    input: { list: [] },
    gives: { failed: 'NoTransition', state: 'all' },
  },
  'the first of several machines': {
    data: each({ foreach: undefined, machine: ['slow', 'doubling'], mode: 'any', input: { n: 1 } }),
    input: { list: [] },
    gives: { got: { doubling: { twice: 2 } } },
  },
  'a machine that takes too long': {
    data: each({ foreach: undefined, machine: 'slow', input: {}, timeout: 5, on_error: { TimeoutError: 'end' } }),
    input: { list: [] },
    gives: { got: null },
  },
  'machines that are nested too deep': {
    data: {
      settings: { max_depth: 1 },
      machines: {
        one: peer({
          machines: { doubling },
          states: { a: { machine: 'doubling', input: { n: 1 }, transitions: [to('b')] }, b: { type: 'final' } },
        }),
      },
      states: { a: { machine: 'one', transitions: [to('b')] }, b: { type: 'final' } },
    },
    gives: { failed: 'MaxDepthExceeded', state: 'a' },
  },
  'a signal that says yes': {
    data: waiting,
    input: { id: 7 },
    signals: [['approval/7', { ok: true }]],
    gives: { answer: 'yes' },
  },
  'a signal that is no map': {
    data: waiting,
    input: { id: 7 },
    signals: [['approval/7', 5]],
    gives: { answer: 'no', value: 5 },
  },
  'too many steps': {
    data: { settings: { max_steps: 5 }, states: { a: { transitions: [to('a')] }, end: { type: 'final' } } },
    gives: { failed: 'MaxStepsExceeded', state: 'a' },
  },
  'hooks of the whole life': {
    version: '4.2.1',
    data: {
      states: {
        a: { transitions: [to('b')] },
        b: { type: 'final', output: { seen: '{{ context.seen }}' } },
        c: { type: 'final', output: { seen: '{{ context.seen }}', redirected: true } },
      },
    },
    hooks: () => {
      const note = (context: object, what: string): object => ({
        ...context,
        seen: [...((context as { seen?: string[] }).seen ?? []), what],
      });
      return {
        onMachineStart: (context: object) => note(context, 'start'),
        onStateEnter: (state: string, context: object) => note(context, `enter ${state}`),
        onTransition: () => 'c',
        onMachineEnd: (_context: object, output: unknown) => ({ ...(output as object), ended: true }),
      } as unknown as MachineHooks;
    },
    gives: { seen: ['start', 'enter a', 'enter c'], redirected: true, ended: true },
  },
  'an agent that is tried again': {
    data: {
      agents: { writer: { type: 'function' } },
      states: {
        write: {
          agent: 'writer',
          execution: { type: 'retry', backoffs: [2, 8], jitter: 0 },
          input: { about: '{{ input.about }}' },
          output_to_context: { text: '{{ output.text }}' },
          transitions: [to('end')],
        },
        end: { type: 'final', output: { text: '{{ context.text }}' } },
      },
    },
    input: { about: 'bees' },
    agents: () => {
      let calls = 0;
      return {
        writer: (async (input: { readonly about: string }) => {
          if (++calls < 3) throw new Error('busy');
          return { output: { text: `on ${input.about}` } };
        }) as unknown as AgentFunction,
      };
    },
    gives: { text: 'on bees' },
  },
  'three machines by their names': {
    data: each({
      foreach: undefined,
      machine: ['a', 'b', 'c'],
      input: {},
    }),
    input: { list: [] },
    gives: { got: { a: { what: 'a' }, b: { what: 'b' }, c: { what: 'c' } } },
  },
  'a list of machines in order, which end in another': {
    data: each({ machine: 'counts', input: { n: '{{ n }}' } }),
    input: { list: [3, 1, 2] },
    hooks: places,
    gives: {
      got: [
        { n: 3, place: 3 },
        { n: 1, place: 1 },
        { n: 2, place: 2 },
      ],
    },
  },
  'the first that completes, although another has failed before': {
    data: each({ foreach: undefined, machine: ['broken', 'doubling'], mode: 'any', input: { n: 1 } }),
    input: { list: [] },
    gives: { got: { doubling: { twice: 2 } } },
  },
  'none that completes of several': {
    data: each({ foreach: undefined, machine: ['broken', 'never'], mode: 'any', input: {} }),
    input: { list: [] },
    gives: { failed: 'NoTransition', state: 'all' },
  },
  'machines that take too long, and then a wait': {
    data: each(
      { foreach: undefined, machine: 'slow', input: {}, timeout: 5, on_error: { TimeoutError: 'then' } },
      {
        then: {
          wait_for: 'nobody',
          timeout: 5,
          on_error: { TimeoutError: 'late' },
          transitions: [to('end')],
        },
        late: { type: 'final', output: { type: '{{ context.last_error_type }}', step: '{{ context.machine.step }}' } },
      },
    ),
    input: { list: [] },
    gives: { type: 'TimeoutError', step: 3 },
  },
  'an agent that succeeds with the last of its tries': {
    data: trying({ backoffs: [2, 8], jitter: 0 }),
    agents: busyUntil(3),
    gives: { calls: 3 },
  },
  'an agent that fails with each of its tries': {
    data: trying({ backoffs: [2, 8], jitter: 0 }),
    agents: busyUntil(9),
    gives: { said: 'busy 3' },
  },
  'an agent that is not tried again': {
    data: trying({ backoffs: [] }),
    agents: busyUntil(2),
    gives: { said: 'busy 1' },
  },
  'signals of one channel, the first comes first': {
    data: {
      states: {
        one: { wait_for: 'news', output_to_context: { one: '{{ output }}' }, transitions: [to('two')] },
        two: { wait_for: 'news', output_to_context: { two: '{{ output }}' }, transitions: [to('end')] },
        end: { type: 'final', output: { one: '{{ context.one }}', two: '{{ context.two }}' } },
      },
    },
    signals: [
      ['news', { n: 1 }],
      ['news', { n: 2 }],
    ],
    gives: { one: { n: 1 }, two: { n: 2 } },
  },
  'a signal for all that wait': {
    data: each({ machine: 'hears', input: {} }),
    input: { list: [1, 2, 3] },
    broadcast: ['news', { heard: 'all of it' }],
    gives: { got: [{ heard: 'all of it' }, { heard: 'all of it' }, { heard: 'all of it' }] },
  },
  'an agent with tools, to its end': {
    data: digging({}),
    agents: digger(2),
    tools: looking,
    gives: { stop: null, said: 'seen 0, seen 1', calls: 2 },
  },
  'an agent with tools that has no more turns': {
    data: digging({ max_turns: 2 }),
    agents: digger(9),
    tools: looking,
    gives: { stop: 'max_turns', said: 'no tools: seen 0, seen 1', calls: 2 },
  },
  'an agent with a tool that is denied': {
    data: digging({ denied_tools: ['look'] }),
    agents: stubborn,
    tools: looking,
    gives: { stop: null, said: "Tool 'look' is not allowed.", calls: 0 },
  },
  'an agent with tools that is left in the middle': {
    version: '4.2.1',
    data: digging(
      {},
      { transitions: [to('early', 'context.seen >= 1'), to('end')] },
      {
        early: { type: 'final', output: { early: true, stop: '{{ context._tool_loop_stop }}' } },
      },
    ),
    hooks: () => ({
      onToolResult: (...given: readonly unknown[]) => ({ ...last(given), seen: Number(last(given)['seen'] ?? 0) + 1 }),
    }),
    agents: digger(9),
    tools: looking,
    gives: { early: true, stop: 'transition' },
  },
  'a second state with tools begins anew': {
    data: digging(
      {},
      { transitions: [to('again')] },
      {
        again: {
          agent: 'digger',
          tool_loop: { policies: { look: 'repeat' } },
          output_to_context: { said: '{{ output.content }}' },
          transitions: [to('end')],
        },
      },
    ),
    agents: digger(1),
    tools: looking,
    gives: { stop: null, said: 'seen 0', calls: 1 },
  },
  'hooks with arguments by the input of the run': {
    data: {
      hooks: { name: 'named', args: { by: '{{ input.by }}', at: ['at {{ input.by }}'], word: 'input' } },
      states: { a: { action: 'x', transitions: [to('end')] }, end: { type: 'final', output: { got: 'context.got' } } },
    },
    input: { by: 5 },
    named: (args) => ({ onAction: () => ({ got: args }) }),
    gives: { got: { by: 5, at: ['at 5'], word: 'input' } },
  },
  'machines within, each with hooks by its own input': {
    data: each({
      machine: 'hooked',
      input: { by: '{{ n }}' },
    }),
    input: { list: [1, 2] },
    named: ({ by }) => ({ onAction: () => ({ got: by }) }),
    gives: { got: [{ got: 1 }, { got: 2 }] },
  },
  'hooks with an argument that cannot be rendered': {
    data: {
      hooks: { name: 'named', args: { by: '{{ input.by / 0 }}' } },
      states: { a: { transitions: [to('end')] }, end: { type: 'final' } },
    },
    input: { by: 5 },
    named: () => ({}),
    gives: { failed: 'TemplateError', state: 'a' },
  },
  'an agent for each item, in the order of the items': {
    data: asking({}),
    input: { list: [3, 1, 2] },
    agents: squaring,
    gives: { got: [9, 1, 4].map((square) => ({ square, of: 3 })), item: null },
  },
  'an agent for each item, by their keys': {
    data: asking({ key: 'k{{ n }}' }),
    input: { list: [3, 1] },
    agents: squaring,
    gives: { got: { k3: { square: 9, of: 2 }, k1: { square: 1, of: 2 } }, item: null },
  },
  'an agent for two items with one key': {
    data: asking({ key: 'k' }),
    input: { list: [3, 1] },
    agents: squaring,
    gives: { type: 'DuplicateKey', said: 'two items have the key "k"' },
  },
  'an agent for no items': { data: asking({}), input: { list: [] }, agents: squaring, gives: { got: [], item: null } },
  'an agent that fails for one of its items': {
    data: asking({}),
    input: { list: [13, 2] },
    agents: squaring,
    gives: {
      got: [
        { _error: 'no 13', _error_type: 'Unlucky' },
        { square: 4, of: 2 },
      ],
      item: null,
    },
  },
  'an agent that fails for one of its items, and the state with it': {
    data: asking({ on_child_error: 'fail' }),
    input: { list: [2, 13] },
    agents: squaring,
    gives: { type: 'Unlucky', said: 'no 13' },
  },
  'an agent for the first item that it answers': {
    data: asking({ mode: 'any' }),
    input: { list: [13, 99, 5] },
    agents: squaring,
    gives: { got: { square: 25, of: 3 }, item: null },
  },
  'an agent that takes too long for one of its items': {
    data: asking({ timeout: 5 }),
    input: { list: [1, 99] },
    agents: squaring,
    gives: { type: 'TimeoutError', said: 'it took more than 5 s' },
  },
  'an agent for more items than may be asked for': {
    data: asking({}, { max_agent_calls: 2 }),
    input: { list: [1, 2, 3] },
    agents: squaring,
    gives: {
      type: 'MaxAgentCallsExceeded',
      said: '3 calls more than the 0 so far are more than max_agent_calls 2',
    },
  },
  'an agent for many items, eight of them at once': {
    data: asking({ output_to_context: { got: '{{ output | map(attribute="most") | max }}' } }),
    input: { list: [...Array(50).keys()] },
    agents: crowding,
    gives: { got: 8, item: null },
  },
  'an agent for many items, as many at once as the machine says': {
    data: asking({ output_to_context: { got: '{{ output | map(attribute="most") | max }}' } }, { max_parallel: 3 }),
    input: { list: [...Array(50).keys()] },
    agents: crowding,
    gives: { got: 3, item: null },
  },
  'items of one conversation, one after the other': {
    data: asking({ session_id: '{{ "odd" if n % 2 else "even" }}' }),
    input: { list: [1, 2, 3, 4] },
    agents: talking,
    gives: { got: ['new+1', 'new+2', 'new+1+3', 'new+2+4'].map((said) => ({ said })), item: null },
  },
  'items without a conversation, each for itself': {
    data: asking({}),
    input: { list: [1, 2] },
    agents: talking,
    gives: { got: ['new+1', 'new+2'].map((said) => ({ said })), item: null },
  },
  'items of one conversation that must not be one after the other': {
    data: asking({ session_id: 'one' }, { parallel_fallback: 'error' }),
    input: { list: [1, 2] },
    agents: talking,
    gives: {
      type: 'ParallelError',
      said: 'items with one session_id go on with one conversation, and cannot be asked at once (parallel_fallback: error)',
    },
  },
  'an agent with tools for each item': {
    data: {
      agents: { digger: { type: 'function' } },
      states: {
        dig: {
          foreach: '{{ [1, 2] }}',
          agent: 'digger',
          tool_loop: { policies: { look: 'repeat' } },
          output_to_context: { all: '{{ output | map(attribute="content") | list }}' },
          transitions: [to('end')],
        },
        end: { type: 'final', output: { all: '{{ context.all }}', calls: '{{ context._tool_calls_count }}' } },
      },
    },
    agents: digger(2),
    tools: looking,
    gives: { all: ['seen 0, seen 1', 'seen 0, seen 1'], calls: 2 },
  },
};
