import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DurableScene, type DurableSceneOptions } from '../../../../test/support/runs/durable-scene.ts';
import type { MachineSource } from '../loader-options.ts';
import type { MachineHooks } from '../machine-hooks.ts';

const machine = (data: object): MachineSource => ({
  value: { spec: 'flatmachine', spec_version: '2.0.0', data },
  folder: '/',
  name: 'test',
});

const peer = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });

/** Adds one to `count`, and notes that it did. */
const counting = (effects: string[] = []): MachineHooks => ({
  onAction: (...given: readonly unknown[]) => {
    const context = given.at(-1) as Record<string, number>;
    const count = (context['count'] ?? 0) + 1;
    effects.push(`count ${count}`);
    return { count };
  },
});

const COUNTER = machine({
  context: { count: 0 },
  states: {
    up: { action: 'up', transitions: [{ to: 'end', condition: 'context.count >= 3' }, { to: 'again' }] },
    again: { transitions: [{ to: 'up' }] },
    end: { type: 'final', output: { count: '{{ context.count }}' } },
  },
});

const FAN_OUT = machine({
  machines: {
    child: peer({
      states: {
        work: { action: 'up', transitions: [{ to: 'end' }] },
        end: { type: 'final', output: { twice: '{{ input.n * 2 }}', text: '{{ input.text }}' } },
      },
    }),
  },
  context: { list: '{{ input.list }}' },
  states: {
    all: {
      foreach: '{{ context.list }}',
      as: 'n',
      machine: 'child',
      input: { n: '{{ n }}', text: '{{ input.text }}' },
      output_to_context: { results: '{{ output }}', first: '{{ output[0] }}' },
      transitions: [{ to: 'up' }],
    },
    up: { action: 'up', transitions: [{ to: 'end' }] },
    end: { type: 'final', output: { results: '{{ context.results }}', first: '{{ context.first }}' } },
  },
});

describe('a machine as a durable run', () => {
  test('has one entry for each state that did something, and one commit more than that at most', async (t) => {
    const scene = await DurableScene.open(t, { hooks: [counting()] });
    const task = await scene.start(COUNTER);
    await scene.work();
    assert.deepEqual(await scene.end(task), { state: 'completed', output: { count: 3 } });
    assert.deepEqual(await scene.journal(task), ['s:000001', 's:000003', 's:000005']);
    assert.equal(scene.turns, 3);
  });

  test('waits for a signal without a slot, and goes on with what it says', async (t) => {
    const scene = await DurableScene.open(t);
    const task = await scene.start(
      machine({
        states: {
          ask: { wait_for: 'approval/7', output_to_context: { by: '{{ output.by }}' }, transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { by: '{{ context.by }}' } },
        },
      }),
    );
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    await scene.engine.waits.signal('approval/7', { by: 'ann' });
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { by: 'ann' });
  });

  test('finds a signal that came before it waits', async (t) => {
    const scene = await DurableScene.open(t);
    await scene.engine.waits.signal('go', 5);
    const task = await scene.start(
      machine({
        states: {
          ask: { wait_for: 'go', output_to_context: { n: '{{ output.value }}' }, transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { n: '{{ context.n }}' } },
        },
      }),
    );
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { n: 5 });
  });

  test('a wait that takes too long raises TimeoutError', async (t) => {
    const scene = await DurableScene.open(t);
    const task = await scene.start(
      machine({
        states: {
          ask: { wait_for: 'never', timeout: 30, on_error: { TimeoutError: 'late' }, transitions: [{ to: 'end' }] },
          late: { type: 'final', output: { late: '{{ context.last_error_type }}' } },
          end: { type: 'final' },
        },
      }),
    );
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { late: 'TimeoutError' });
  });

  test('machines within it are tasks, and their results come in order and are stored once', async (t) => {
    const scene = await DurableScene.open(t, { hooks: [counting()] });
    const text = 'x'.repeat(5000);
    const task = await scene.start(FAN_OUT, { list: [1, 2, 3], text });
    await scene.work();
    const results = [2, 4, 6].map((twice) => ({ twice, text }));
    assert.deepEqual((await scene.end(task)).output, { results, first: results[0] });
    const stored = (await scene.engine.journal(task)).filter(({ key }) => /^[sb]:\d+$/.test(key));
    const length = stored.reduce((sum, { value = '' }) => sum + value.length, 0);
    assert.ok(length < 2500, `the history has ${length} characters`);
  });

  test('the first machine that completes wins, and the others are cancelled with what they started', async (t) => {
    const scene = await DurableScene.open(t);
    const waiting = peer({
      states: { wait: { wait_for: 'never', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
    });
    const around = peer({
      machines: { waiting },
      states: { go: { machine: 'waiting', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
    });
    const quick = peer({ states: { end: { type: 'final', output: { quick: true } } } });
    const task = await scene.start(
      machine({
        machines: { around, quick },
        states: {
          race: {
            machine: ['around', 'quick'],
            mode: 'any',
            output_to_context: { won: '{{ output }}' },
            transitions: [{ to: 'end' }],
          },
          end: { type: 'final', output: { won: '{{ context.won }}' } },
        },
      }),
    );
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { won: { quick: { quick: true } } });
    const members = await scene.engine.store.treeCount({ root: task });
    assert.deepEqual([members.cancelled, members.completed, members.waiting], [2, 2, 0]);
  });

  test('machines that were cancelled because the time was over do not count as ended for the next attempt', async (t) => {
    const slow = peer({
      states: { wait: { wait_for: 'never', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
    });
    const scene = await DurableScene.open(t, { hooks: [counting()] });
    const task = await scene.start(
      machine({
        machines: { slow },
        context: { count: 0 },
        states: {
          both: {
            machine: ['slow', 'slow'],
            timeout: 30,
            on_error: { TimeoutError: 'late' },
            transitions: [{ to: 'end' }],
          },
          late: { action: 'up', transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { count: '{{ context.count }}', type: '{{ context.last_error_type }}' } },
        },
      }),
    );
    // It starts them, and they wait. The process that finds their time over dies before it has written that down.
    await scene.work({ crashBefore: 4 });
    assert.equal(scene.crashes, 1);
    assert.deepEqual((await scene.end(task)).output, { count: 1, type: 'TimeoutError' });
  });

  test('a state that fails without a way on fails the run, which goes on from there when it is tried again', async (t) => {
    let broken = true;
    const effects: string[] = [];
    const hooks: MachineHooks = {
      onAction: (...given: readonly unknown[]) => {
        const [action] = given as [string];
        effects.push(action);
        if (action === 'second' && broken) throw Object.assign(new Error('no disk'), { name: 'DiskError' });
        return { [action]: true };
      },
    };
    const scene = await DurableScene.open(t, { hooks: [hooks] });
    const task = await scene.start(
      machine({
        states: {
          one: { action: 'first', transitions: [{ to: 'two' }] },
          two: { action: 'second', transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { first: '{{ context.first }}', second: '{{ context.second }}' } },
        },
      }),
    );
    await scene.work();
    assert.deepEqual(await scene.end(task), {
      state: 'failed',
      output: { name: 'DiskError', message: 'no disk', state: 'two' },
    });
    broken = false;
    await scene.engine.trees.retry(task);
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { first: true, second: true });
    assert.deepEqual(effects, ['first', 'second', 'second']);
  });

  test('what it starts asks for the same workers as the run itself', async (t) => {
    const effects: string[] = [];
    const scene = await DurableScene.open(t, { hooks: [counting(effects)] });
    const task = await scene.start(FAN_OUT, { list: [1, 2] }, { requires: ['hooks=fan-out.hooks.ts'] });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.equal((await scene.engine.store.treeCount({ root: task })).ready, 2);
    assert.deepEqual(effects, []);
  });

  test('launched machines run on by themselves, once, and are members of its tree', async (t) => {
    const effects: string[] = [];
    const scene = await DurableScene.open(t, { hooks: [counting(effects)] });
    const child = peer({
      context: { count: 10 },
      states: { work: { action: 'up', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
    });
    const task = await scene.start(
      machine({
        machines: { child },
        states: { go: { launch: 'child', transitions: [{ to: 'end' }] }, end: { type: 'final', output: { ok: true } } },
      }),
    );
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { ok: true });
    assert.deepEqual(effects, ['count 11']);
  });
});

describe('a run with a budget', () => {
  const asking = (draw: object, states: object = {}): MachineSource =>
    machine({
      agents: { writer: { type: 'function' } },
      context: { n: 0 },
      states: {
        write: {
          agent: 'writer',
          draw,
          output_to_context: { n: '{{ context.n + 1 }}' },
          transitions: [{ to: 'end', condition: 'context.n >= 4' }, { to: 'write' }],
          ...states,
        },
        end: { type: 'final', output: { n: '{{ context.n }}' } },
      },
    });
  const writer = (tokens: number, calls: number[]) => ({
    writer: () => {
      calls.push(tokens);
      return { content: 'text', usage: { input_tokens: tokens, output_tokens: 0 }, finish_reason: 'stop' };
    },
  });

  test('waits before the call that could go beyond it, and goes on when it is raised', async (t) => {
    const calls: number[] = [];
    const scene = await DurableScene.open(t, { agents: writer(80, calls) });
    const task = await scene.start(asking({ tokens: 100 }));
    await scene.engine.budgets.set(task, { tokens: { hard: 260 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.equal(calls.length, 3, 'a fourth call could cost 100, and 20 are left');
    const [budget] = await scene.engine.budgets.get(task);
    assert.deepEqual([budget?.spent, budget?.waiting], [240, 1]);
    await scene.engine.budgets.set(task, { tokens: { hard: 1000 } });
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { n: 4 });
    assert.equal(calls.length, 4);
    assert.equal((await scene.engine.budgets.get(task))[0]?.spent, 320);
  });

  test('counts a call that took too long with all that was drawn for it', async (t) => {
    let calls = 0;
    const never = (_input: unknown, { signal }: { readonly signal: AbortSignal }) => {
      calls++;
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    };
    const scene = await DurableScene.open(t, { agents: { writer: never } });
    const task = await scene.start(asking({ tokens: 100 }, { timeout: 1, on_error: 'write' }));
    await scene.engine.budgets.set(task, { tokens: { hard: 300 }, calls: { hard: 10 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.equal(calls, 3);
    const spent = (await scene.engine.budgets.get(task)).map(({ unit, spent }) => [unit, spent]);
    assert.deepEqual(spent, [
      ['tokens', 300],
      ['calls', 3],
    ]);
  });

  test('gives back what a call has not used of a unit, also where that is all of it', async (t) => {
    const calls: number[] = [];
    const scene = await DurableScene.open(t, { agents: writer(10, calls) });
    const task = await scene.start(asking({ tokens: 100, money: 1 }));
    await scene.engine.budgets.set(task, { tokens: { hard: 1000 }, money: { hard: 2_000_000 } });
    await scene.work();
    assert.deepEqual(await scene.end(task), { state: 'completed', output: { n: 4 } });
  });

  test('counts what machines use that run within it, when they have ended', async (t) => {
    const calls: number[] = [];
    const child = (asking({}).value as { readonly data: object }).data;
    const scene = await DurableScene.open(t, { agents: writer(10, calls) });
    const task = await scene.start(
      machine({
        settings: { children: 'inline' },
        machines: { child: peer(child) },
        states: {
          all: { foreach: '{{ range(3) }}', machine: 'child', transitions: [{ to: 'end' }] },
          end: { type: 'final' },
        },
      }),
    );
    await scene.engine.budgets.set(task, { tokens: { soft: 1 }, calls: { soft: 1 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'completed');
    const spent = (await scene.engine.budgets.get(task)).map(({ unit, spent }) => [unit, spent]);
    assert.deepEqual(spent, [
      ['tokens', 120],
      ['calls', 12],
    ]);
  });

  test('counts what the machines within it use, and lets none of them go beyond it', async (t) => {
    const calls: number[] = [];
    const child = (asking({ tokens: 10, calls: 1 }).value as { readonly data: object }).data;
    const scene = await DurableScene.open(t, { agents: writer(10, calls) });
    const task = await scene.start(
      machine({
        machines: { child: peer(child) },
        states: {
          all: { foreach: '{{ range(3) }}', machine: 'child', transitions: [{ to: 'end' }] },
          end: { type: 'final' },
        },
      }),
    );
    await scene.engine.budgets.set(task, { tokens: { hard: 500 }, calls: { hard: 7 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.equal(calls.length, 7);
    const spent = Object.fromEntries((await scene.engine.budgets.get(task)).map((one) => [one.unit, one.spent]));
    assert.deepEqual([spent['tokens'], spent['calls']], [70, 7]);
  });

  const fanOut = (draw: object, states: object = {}): MachineSource => {
    const child = (asking(draw).value as { readonly data: object }).data;
    return machine({
      settings: { children: 'inline' },
      machines: { child: peer(child) },
      states: {
        all: { foreach: '{{ range(3) }}', machine: 'child', transitions: [{ to: 'end' }], ...states },
        end: { type: 'final', output: { ok: true } },
      },
    });
  };
  const spentOf = async (scene: DurableScene, task: number): Promise<unknown> =>
    Object.fromEntries((await scene.engine.budgets.get(task)).map(({ unit, spent }) => [unit, spent]));

  test('machines that run within it make no call that could go beyond it, and begin again when it is raised', async (t) => {
    const calls: number[] = [];
    const scene = await DurableScene.open(t, { agents: writer(10, calls) });
    const task = await scene.start(fanOut({ tokens: 10, calls: 1 }));
    await scene.engine.budgets.set(task, { tokens: { hard: 500 }, calls: { hard: 7 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.equal(calls.length, 7);
    assert.deepEqual(await spentOf(scene, task), { tokens: 70, calls: 7 });
    await scene.engine.budgets.set(task, { tokens: { hard: 500 }, calls: { hard: 7 + 12 } });
    await scene.work();
    assert.deepEqual(await scene.end(task), { state: 'completed', output: { ok: true } });
    assert.deepEqual(await spentOf(scene, task), { tokens: 190, calls: 19 });
  });

  test('a call under way is cut off when another finds too little left, and counts with all that was drawn for it', async (t) => {
    const begun: AbortSignal[] = [];
    const agents = {
      // One call of each machine but the last is under way when the last one asks.
      writer: (_input: unknown, { signal }: { readonly signal: AbortSignal }) => {
        begun.push(signal);
        return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut off'))));
      },
    };
    const scene = await DurableScene.open(t, { agents });
    const task = await scene.start(fanOut({ tokens: 100 }));
    await scene.engine.budgets.set(task, { tokens: { hard: 250 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.deepEqual(
      begun.map(({ aborted }) => aborted),
      [true, true],
    );
    assert.deepEqual(await spentOf(scene, task), { tokens: 200 });
  });

  test('machines within it that are too slow count with all that was drawn for their calls', async (t) => {
    const agents = {
      writer: (_input: unknown, { signal }: { readonly signal: AbortSignal }) =>
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    };
    const scene = await DurableScene.open(t, { agents });
    const task = await scene.start(fanOut({ tokens: 100 }, { timeout: 1, on_error: 'end' }));
    await scene.engine.budgets.set(task, { tokens: { hard: 1000 }, calls: { hard: 99 } });
    await scene.work();
    assert.deepEqual(await scene.end(task), { state: 'completed', output: { ok: true } });
    assert.deepEqual(await spentOf(scene, task), { tokens: 300, calls: 3 });
  });

  const askEach = (draw: object, most: number, more: object = {}): MachineSource =>
    machine({
      agents: { writer: { type: 'function' } },
      states: {
        ask: {
          foreach: '{{ range(5) }}',
          agent: 'writer',
          input: { n: '{{ item }}' },
          draw,
          output_to_context: { got: '{{ output }}' },
          transitions: [{ to: 'end' }],
          ...more,
        },
        end: {
          type: 'final',
          output: { got: '{{ context.got }}', calls: '{{ context.machine.total_api_calls }}' },
        },
      },
      settings: { max_parallel: most },
    });

  test('an agent is asked for the items for which the budget lasts, and for the others when it is raised', async (t) => {
    const asked: unknown[] = [];
    const agents = {
      writer: ({ n }: { readonly n?: unknown }) => {
        asked.push(n);
        return { output: { n }, usage: { input_tokens: 10, output_tokens: 0 } };
      },
    };
    const scene = await DurableScene.open(t, { agents });
    const task = await scene.start(askEach({ tokens: 10 }, 1));
    await scene.engine.budgets.set(task, { tokens: { hard: 30 }, calls: { hard: 99 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.deepEqual(asked, [0, 1, 2]);
    await scene.engine.budgets.set(task, { tokens: { hard: 50 } });
    await scene.work();
    const got = [0, 1, 2, 3, 4].map((n) => ({ n }));
    assert.deepEqual(await scene.end(task), { state: 'completed', output: { got, calls: 5 } });
    assert.deepEqual(asked, [0, 1, 2, 3, 4]);
    assert.deepEqual(await spentOf(scene, task), { tokens: 50, calls: 5 });
  });

  test('a list gets on by every raise that is enough for one call', async (t) => {
    let calls = 0;
    const agents = {
      writer: async ({ n }: { readonly n?: unknown }) => {
        calls++;
        // Other calls ask for their part of the budget meanwhile.
        for (let turns = 0; turns < 5; turns++) await new Promise<void>((go) => setImmediate(go));
        return { output: { n }, usage: { input_tokens: 10, output_tokens: 0 } };
      },
    };
    const scene = await DurableScene.open(t, { agents });
    const task = await scene.start(askEach({ tokens: 10 }, 4));
    let raises = 0;
    for (let hard = 10; (await scene.end(task)).state !== 'completed' && raises < 20; hard += 10, raises++) {
      await scene.engine.budgets.set(task, { tokens: { hard } });
      await scene.work();
    }
    // Of the first attempt nobody knew that the budget is short: its one call was cut off.
    assert.deepEqual([calls, raises], [6, 6]);
    assert.deepEqual(await spentOf(scene, task), { tokens: 60 });
  });

  test('a call for an item that nobody waits for any more counts with all that was drawn for it', async (t) => {
    const agents = {
      writer: (_input: unknown, { signal }: { readonly signal: AbortSignal }) =>
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    };
    const scene = await DurableScene.open(t, { agents });
    const task = await scene.start(askEach({ tokens: 100 }, 2, { timeout: 1, on_error: 'end' }));
    await scene.engine.budgets.set(task, { tokens: { hard: 1000 }, calls: { hard: 99 } });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'completed');
    assert.deepEqual(await spentOf(scene, task), { tokens: 200, calls: 2 });
  });
});

/** Runs the machine with a crash after each of its commits in turn, and compares what it gave and did with an undisturbed run. */
async function crashEverywhere(
  t: Parameters<typeof DurableScene.open>[0],
  source: MachineSource,
  input: object,
  options: (effects: string[]) => DurableSceneOptions,
  signals: (scene: DurableScene) => Promise<void> = async () => {},
): Promise<void> {
  const once = async (crashAt: number | undefined) => {
    const effects: string[] = [];
    const scene = await DurableScene.open(t, options(effects));
    const task = await scene.start(source, input);
    await scene.work({ crashAt });
    await signals(scene);
    await scene.work({ crashAt });
    return { ...(await scene.end(task)), effects: effects.sort(), turns: scene.turns, crashes: scene.crashes };
  };
  const { turns, ...undisturbed } = await once(undefined);
  assert.equal(undisturbed.state, 'completed');
  assert.ok(turns > 0);
  for (let crashAt = 1; crashAt <= turns; crashAt++) {
    const { state, output, effects, crashes } = await once(crashAt);
    assert.deepEqual({ state, output, effects, crashes: 0 }, undisturbed, `crash after commit ${crashAt} of ${turns}`);
    assert.equal(crashes, 1);
  }
}

describe('a crash after any commit', () => {
  test('repeats nothing and changes nothing in a loop', (t) =>
    crashEverywhere(t, COUNTER, {}, (effects) => ({ hooks: [counting(effects)] })));

  test('repeats nothing and changes nothing in a fan-out', (t) =>
    crashEverywhere(t, FAN_OUT, { list: [1, 2], text: 'y'.repeat(300) }, (effects) => ({
      hooks: [counting(effects)],
    })));

  test('repeats no call of an agent and no tool of a loop', (t) =>
    crashEverywhere(
      t,
      machine({
        agents: { digger: { type: 'function' } },
        states: {
          dig: {
            agent: 'digger',
            tool_loop: { policies: { look: 'repeat' } },
            input: { where: 'here' },
            output_to_context: { found: '{{ context._tool_loop_content }}' },
            transitions: [{ to: 'up' }],
          },
          up: { action: 'up', transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { found: '{{ context.found }}', calls: '{{ context._tool_calls_count }}' } },
        },
      }),
      {},
      (effects) => ({
        hooks: [counting(effects)],
        tools: {
          look: ({ n }) => {
            effects.push(`look ${String(n)}`);
            return `seen ${String(n)}`;
          },
        },
        agents: {
          digger: (_input, { messages = [] }) => {
            const turn = messages.filter(({ role }) => role === 'assistant').length;
            effects.push(`model ${turn}`);
            if (turn === 2) return { content: 'gold', finish_reason: 'stop' };
            const calls = [0, 1].map((n) => ({ id: `${turn}-${n}`, name: 'look', arguments: { n: 2 * turn + n } }));
            return { finish_reason: 'tool_use', tool_calls: calls };
          },
        },
      }),
    ));

  test('asks for no item again that an agent has answered', (t) =>
    crashEverywhere(
      t,
      machine({
        agents: { writer: { type: 'function' } },
        settings: { max_parallel: 1 },
        states: {
          ask: {
            foreach: '{{ range(4) }}',
            agent: 'writer',
            input: { n: '{{ item }}' },
            output_to_context: { got: '{{ output }}' },
            transitions: [{ to: 'end' }],
          },
          end: { type: 'final', output: { got: '{{ context.got }}', calls: '{{ context.machine.total_api_calls }}' } },
        },
      }),
      {},
      (effects) => ({
        agents: {
          writer: ({ n }) => {
            effects.push(`asked ${String(n)}`);
            return { output: { n } };
          },
        },
      }),
    ));

  test('leaves a tool that may have acted to its policy', async (t) => {
    const source = machine({
      agents: { digger: { type: 'function' } },
      states: {
        dig: { agent: 'digger', tool_loop: true, on_error: { StepUncertain: 'ask' }, transitions: [{ to: 'ask' }] },
        ask: { type: 'final', output: { why: '{{ context.last_error_type }}' } },
      },
    });
    const looks: string[] = [];
    const scene = await DurableScene.open(t, {
      tools: { look: () => looks.push('look') },
      agents: { digger: () => ({ finish_reason: 'tool_use', tool_calls: [{ id: 'a', name: 'look', arguments: {} }] }) },
    });
    const task = await scene.start(source);
    // The mark of the tool is the first commit: it dies before the tool acts, which nobody can know afterwards.
    await scene.work({ crashAt: 1 });
    assert.deepEqual((await scene.end(task)).output, { why: 'StepUncertain' });
    assert.deepEqual([looks, scene.crashes], [[], 1]);
  });

  test('loses no signal', (t) =>
    crashEverywhere(
      t,
      machine({
        states: {
          up: { action: 'up', transitions: [{ to: 'ask' }] },
          ask: { wait_for: 'a', output_to_context: { a: '{{ output.value }}' }, transitions: [{ to: 'again' }] },
          again: { action: 'up', transitions: [{ to: 'b' }] },
          b: { wait_for: 'b', output_to_context: { b: '{{ output.value }}' }, transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { a: '{{ context.a }}', b: '{{ context.b }}', count: '{{ context.count }}' } },
        },
      }),
      {},
      (effects) => ({ hooks: [counting(effects)] }),
      async ({ engine }) => {
        await engine.waits.signal('a', 1);
        await engine.waits.signal('b', 2);
      },
    ));
});
