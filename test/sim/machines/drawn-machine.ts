import type { MachineSource } from '../../../src/worker/machine/loader-options.ts';
import type { Rng } from '../rng.ts';

/** Machines of which each does a few things after another: drawn from the seed, with all that they need from outside. */

export interface DrawnRun {
  readonly name: string;
  readonly source: MachineSource;
  readonly input: Readonly<Record<string, unknown>>;
  /** Sent in this order, and each once. */
  readonly signals: readonly { readonly channel: string; readonly data: object }[];
  /** Tokens that its tree may use at first. */
  readonly hard: number | undefined;
  /** Machines that it starts itself. */
  readonly children: number;
}

/** What an agent may use, and what it does use. */
export const DRAW = 10;
export const COST = 7;

interface Part {
  readonly states: Readonly<Record<string, object>>;
  readonly context?: Readonly<Record<string, unknown>>;
  /** Names in the context that the run gives in the end. */
  readonly gives?: readonly string[];
  readonly signals?: readonly string[];
  readonly children?: number;
}

interface Place {
  /** The state with which this part begins, and its number. */
  readonly name: string;
  readonly i: number;
  readonly next: string;
  readonly rng: Rng;
  /** What the list of the input holds. */
  readonly items: number;
}

const to = (state: string, condition?: string): object => ({ to: state, ...(condition ? { condition } : {}) });
const machine = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });
const seconds = (rng: Rng): number => rng.int(2, 12) / 10;

/** So often one that is long makes half of what a base is written for. */
const SAID = 30;

/** Long enough to be pointed to. */
export const long = (about: string): string => `${about} `.repeat(Math.ceil(300 / (about.length + 1)));

/** The name of a machine whose machines run within its attempt, and of one that asks its agent for each item of a list. */
export const OFFICE = 'office';
export const PANEL = 'panel';

const end = (output: object): object => ({ type: 'final', output });
const double = { action: 'double', transitions: [to('end')] };
const worker = machine({
  context: { n: '{{ input.n }}' },
  states: { work: double, end: end({ twice: '{{ context.twice }}', text: '{{ context.text }}' }) },
});
const stuck = machine({ states: { wait: { wait_for: 'never', transitions: [to('end')] }, end: end({}) } });
const boss = machine({
  machines: { worker },
  context: { list: [1, 2] },
  states: {
    all: {
      foreach: '{{ context.list }}',
      as: 'n',
      machine: 'worker',
      input: { n: '{{ n + input.n }}' },
      output_to_context: { all: '{{ output }}' },
      transitions: [to('end')],
    },
    end: end({ all: '{{ context.all }}' }),
  },
});
/** Draws from the budget of the run that has started it, as its siblings do. */
const clerk = machine({
  agents: { writer: { type: 'function' } },
  context: { n: '{{ input.n }}' },
  states: {
    write: {
      agent: 'writer',
      draw: { tokens: DRAW },
      input: { about: 'item {{ context.n }}', step: '{{ context.machine.step }}' },
      output_to_context: { text: '{{ output.text }}' },
      transitions: [to('end')],
    },
    end: end({ text: '{{ context.text }}' }),
  },
});
/** Two of them within its own attempt: their calls are under way at once. */
const office = machine({
  settings: { children: 'inline' },
  machines: { clerk },
  states: {
    all: {
      foreach: '{{ [1, 2] }}',
      as: 'n',
      machine: 'clerk',
      input: { n: '{{ n + input.n }}' },
      output_to_context: { all: '{{ output }}' },
      transitions: [to('end')],
    },
    end: end({ all: '{{ context.all }}' }),
  },
});
/** More items than it asks for at once. */
const panel = machine({
  settings: { max_parallel: 2 },
  agents: { writer: { type: 'function' } },
  states: {
    all: {
      foreach: '{{ [0, 1, 2, 3] }}',
      agent: 'writer',
      draw: { tokens: DRAW },
      input: { about: 'item {{ item }}', step: '{{ context.machine.step }}' },
      output_to_context: { all: '{{ output }}' },
      transitions: [to('end')],
    },
    end: end({ all: '{{ context.all }}' }),
  },
});
/** Fails before any other has completed. */
const broken = machine({ states: { a: { transitions: [to('b', 'input.never')] }, b: end({}) } });
const around = machine({
  machines: { stuck },
  states: { go: { machine: 'stuck', transitions: [to('end')] }, end: end({}) },
});
const MACHINES = { worker, stuck, boss, clerk, [OFFICE]: office, [PANEL]: panel, broken, around };

/** What a machine does at one of its places. */
const PARTS = {
  loop: ({ name, i, next, rng }) => ({
    context: { [`c${i}`]: 0, [`list${i}`]: [] },
    states: {
      [name]: {
        action: `count:${i}`,
        transitions: [to(next, `context.c${i} >= ${rng.int(1, 5)}`), to(`${name}again`)],
      },
      // Said anew each time, and nowhere else: where the run stands is then written whole now and then.
      [`${name}again`]: {
        output_to_context: { [`said${i}`]: `{{ context.c${i} }} ${'{{ input.text }} '.repeat(SAID)}` },
        transitions: [to(name)],
      },
    },
    gives: [`c${i}`, `list${i}`, `said${i}`],
  }),
  both: ({ name, i, next }) => ({
    context: { [`c${i}`]: 0, [`list${i}`]: [] },
    states: {
      [name]: {
        action: `count:${i}`,
        machine: 'worker',
        input: { n: `{{ context.c${i} }}` },
        output_to_context: { [`r${i}`]: '{{ output }}' },
        transitions: [to(next)],
      },
    },
    gives: [`c${i}`, `list${i}`, `r${i}`],
    children: 1,
  }),
  fan: ({ name, i, next, rng, items }) => {
    const which = rng.pick(['worker', 'worker', 'boss', 'clerk', OFFICE, PANEL]);
    return {
      states: {
        [name]: {
          foreach: '{{ input.list }}',
          as: 'n',
          machine: which,
          input: { n: '{{ n }}' },
          output_to_context: { [`r${i}`]: '{{ output }}', [`first${i}`]: '{{ output[0] }}' },
          transitions: [to(next)],
        },
      },
      gives: [`r${i}`, `first${i}`],
      children: items,
    };
  },
  any: ({ name, i, next }) => ({
    states: {
      [name]: {
        machine: ['around', 'broken', 'worker'],
        mode: 'any',
        input: { n: i },
        output_to_context: { [`won${i}`]: '{{ output }}' },
        transitions: [to(next)],
      },
    },
    gives: [`won${i}`],
    children: 3,
  }),
  wait: ({ name, i, next, rng }) => ({
    states: {
      [name]: {
        wait_for: 'go/{{ input.id }}',
        ...(rng.chance(0.3) ? { timeout: 10_000 } : {}),
        output_to_context: { [`by${i}`]: '{{ output }}' },
        transitions: [to(next)],
      },
    },
    gives: [`by${i}`],
    signals: ['go'],
  }),
  late: ({ name, i, next, rng }) => ({
    states: {
      [name]: {
        wait_for: 'never/{{ input.id }}',
        timeout: seconds(rng),
        on_error: { TimeoutError: `${name}late`, default: 'end' },
        transitions: [to('end')],
      },
      [`${name}late`]: {
        output_to_context: { [`late${i}`]: '{{ context.last_error_type }}' },
        transitions: [to(next)],
      },
    },
    gives: [`late${i}`],
  }),
  tardy: ({ name, i, next, rng }) => ({
    states: {
      [name]: {
        machine: ['stuck', 'around'],
        timeout: seconds(rng),
        on_error: { TimeoutError: `${name}late`, default: 'end' },
        transitions: [to('end')],
      },
      [`${name}late`]: {
        output_to_context: { [`late${i}`]: '{{ context.last_error_type }}' },
        transitions: [to(next)],
      },
    },
    gives: [`late${i}`],
    children: 2,
  }),
  launch: ({ name, i, next }) => ({
    states: { [name]: { launch: 'worker', launch_input: { n: i }, transitions: [to(next)] } },
    children: 1,
  }),
  error: ({ name, i, next }) => ({
    states: {
      [name]: { action: `break:${i}`, on_error: `${name}broke`, transitions: [to('end')] },
      [`${name}broke`]: { output_to_context: { [`err${i}`]: '{{ context.last_error }}' }, transitions: [to(next)] },
    },
    gives: [`err${i}`],
  }),
  agent: ({ name, i, next }) => ({
    states: {
      [name]: {
        agent: 'writer',
        draw: { tokens: DRAW },
        input: { about: `part ${i}`, step: '{{ context.machine.step }}' },
        output_to_context: { [`a${i}`]: '{{ output.text }}' },
        transitions: [to(next)],
      },
    },
    gives: [`a${i}`],
  }),
  each: ({ name, i, next }) => ({
    context: { [`seen${i}`]: [] },
    states: { [name]: { foreach: '{{ input.list }}', as: 'n', action: `see:${i}`, transitions: [to(next)] } },
    gives: [`seen${i}`],
  }),
  drop: ({ name, i, next }) => ({
    context: { [`gone${i}`]: long('gone') },
    states: { [name]: { action: `drop:${i}`, transitions: [to(next)] } },
    gives: [`gone${i}`],
  }),
} satisfies Readonly<Record<string, (place: Place) => Part>>;

/** Calls and loops meet the most. */
const KINDS = [...(Object.keys(PARTS) as (keyof typeof PARTS)[]), 'agent', 'agent', 'each', 'loop', 'loop'] as const;

export function drawRun(rng: Rng, name: string): DrawnRun {
  const items = rng.int(1, 4);
  const kinds = Array.from({ length: rng.int(3, 6) }, () => rng.pick(KINDS));
  const parts = kinds.map((kind, i): Part => {
    const next = i + 1 < kinds.length ? `s${i + 1}` : 'end';
    return PARTS[kind]({ name: `s${i}`, i, next, rng, items });
  });
  const gives = parts.flatMap((part) => part.gives ?? []);
  const output = Object.fromEntries(gives.map((key) => [key, `{{ context.${key} }}`]));
  const data = {
    machines: MACHINES,
    agents: { writer: { type: 'function' } },
    context: Object.assign({ text: '{{ input.text }}' }, ...parts.map(({ context }) => context)) as object,
    states: Object.assign({}, ...parts.map(({ states }) => states), { end: end(output) }) as object,
  };
  const channels = parts.flatMap(({ signals = [] }) => signals);
  const calls = kinds.filter((kind) => kind === 'agent' || kind === 'fan').length;
  return {
    name,
    // Written down and read again, as a file would be: the machines within it would be the same objects otherwise.
    source: { value: JSON.parse(JSON.stringify(machine(data))) as unknown, folder: '/', name },
    input: {
      id: name,
      list: Array.from({ length: items }, (_, i) => i + 1),
      text: rng.chance(0.6) ? long('a text') : '',
    },
    signals: channels.map((channel, n) => ({ channel: `${channel}/${name}`, data: { op: `${name}.${n}` } })),
    hard: calls > 0 && rng.chance(0.8) ? rng.int(DRAW, DRAW * (calls + 1)) : undefined,
    children: parts.reduce((sum, { children = 0 }) => sum + children, 0),
  };
}
