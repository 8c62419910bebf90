import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { fault } from '../../core/errors.ts';
import type { LogEntry, Stream } from '../../core/task/log.ts';
import { VirtualWorld } from '../../store/conformance/kit/virtual-world.ts';
import { TaskLog, type TaskLogOptions } from './task-log.ts';

const KIB = 1024;

interface Shipment {
  readonly entries: readonly LogEntry[];
  readonly store: () => Promise<void>;
  readonly fail: (error: unknown) => Promise<void>;
}

/** A log whose shipments the test ends by hand. */
function rig(options: Partial<TaskLogOptions> = {}) {
  const world = new VirtualWorld();
  const shipments: Shipment[] = [];
  const log = new TaskLog({
    timers: world.timers,
    now: world.clock.wall,
    ship: (entries) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      shipments.push({
        entries,
        store: () => (resolve(), world.settle()),
        fail: (error) => (reject(error), world.settle()),
      });
      return promise;
    },
    ...options,
  });
  const latest = (): Shipment => shipments.at(-1) as Shipment;
  return { world, log, shipments, latest };
}

/** A log whose shipments are stored at once. */
function quick(options: Partial<TaskLogOptions> = {}) {
  const world = new VirtualWorld();
  const stored: LogEntry[] = [];
  const batches: (readonly LogEntry[])[] = [];
  const ship = async (entries: readonly LogEntry[]): Promise<void> => {
    batches.push(entries);
    stored.push(...entries);
  };
  const log = new TaskLog({ timers: world.timers, now: world.clock.wall, ship, ...options });
  return { world, log, stored, batches, texts: () => stored.map(({ text }) => text) };
}

const textsOf = ({ entries }: Shipment): string[] => entries.map(({ text }) => text);
const bytesOf = (entries: readonly LogEntry[]): number =>
  entries.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);

describe('shipping', () => {
  test('a line on an idle log leaves without any time passing, numbered from 1 and stamped', async () => {
    const { world, log, shipments } = rig();
    log.line('stdout', 'hello');
    await world.advance(0);
    assert.deepEqual(shipments[0]?.entries, [{ seq: 1, at: world.clock.wall(), stream: 'stdout', text: 'hello' }]);
  });

  test('where each shipment costs more, lines are gathered for longer, up to a size', async () => {
    const { world, log, batches } = quick({ paceMs: 500 });
    log.line('stdout', 'first');
    await world.advance(0);
    log.line('stdout', 'a');
    await world.advance(400);
    log.line('stdout', 'b');
    assert.equal(batches.length, 1);
    await world.advance(100);
    assert.deepEqual(
      batches.map((batch) => batch.map(({ text }) => text)),
      [['first'], ['a', 'b']],
    );
    for (let i = 0; i < 5; i++) log.line('stdout', 'x'.repeat(16 * KIB));
    await world.advance(0);
    assert.equal(batches.length, 3);
  });

  test('one shipment is under way at a time, and what came meanwhile leaves together, in order, within 100 ms', async () => {
    const { world, log, shipments, latest } = rig();
    log.line('stdout', 'a');
    await world.advance(0);
    log.line('stderr', 'b');
    log.line('log', 'c');
    await world.advance(10_000);
    assert.equal(shipments.length, 1);
    await latest().store();
    await world.advance(100);
    assert.equal(shipments.length, 2);
    assert.deepEqual(
      latest().entries.map(({ seq, stream, text }) => [seq, stream, text]),
      [
        [2, 'stderr', 'b'],
        [3, 'log', 'c'],
      ],
    );
  });

  test('a task that says something all the time makes at most 20 writes a second', async () => {
    const { world, log, batches, stored } = quick();
    for (let i = 0; i < 1000; i++) {
      log.line('log', `${i}`);
      await world.advance(1);
    }
    await log.flush();
    assert.ok(batches.length <= 22, `${batches.length} writes`);
    assert.equal(stored.length, 1000);
  });

  test('a full batch does not wait for the pace', async () => {
    const { world, log, stored } = quick();
    log.line('log', 'first');
    await world.advance(0);
    for (let i = 0; i < 8; i++) log.line('log', 'x'.repeat(10 * KIB));
    await world.advance(0);
    assert.ok(stored.length > 1, 'the batch waited');
  });

  test('no batch holds more than 64 KiB', async () => {
    const { world, log, batches, stored } = quick();
    for (let i = 0; i < 100; i++) log.line('stdout', `${i}`.padEnd(2_000, '.'));
    const flushed = log.flush();
    await world.advance(0);
    await flushed;
    assert.equal(stored.length, 100);
    for (const batch of batches) assert.ok(bytesOf(batch) <= 64 * KIB, `${bytesOf(batch)} bytes`);
  });

  test('a log at rest keeps no timer', async () => {
    const { world, log } = quick();
    log.line('log', 'one');
    await world.advance(1_000);
    assert.deepEqual(world.waits, []);
  });
});

describe('failing shipments', () => {
  test('a shipment that failed comes again as it was, later each time, and nothing behind it overtakes', async () => {
    const { world, log, shipments, latest } = rig();
    log.line('log', 'a');
    await world.advance(0);
    const waits: (number | undefined)[] = [];
    for (let i = 0; i < 8; i++) {
      log.line('log', `later ${i}`);
      await latest().fail(fault('STORE_FULL'));
      waits.push(world.waits[0]);
      await world.advance(5_000);
    }
    assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    for (const shipment of shipments) assert.deepEqual(shipment.entries, shipments[0]?.entries);
    await latest().store();
    await world.advance(100);
    assert.equal(latest().entries[0]?.seq, 2);
    assert.equal(latest().entries.length, 8);
  });

  test('the first refusal of the lease ends the log without a word', async () => {
    const { world, log, shipments, latest } = rig();
    log.line('log', 'a');
    await world.advance(0);
    log.line('log', 'b');
    const flushed = log.flush();
    await latest().fail(fault('LEASE_LOST', { task: 'task_1', attempt: 1 }));
    await flushed;
    assert.equal(log.unsent, 2);
    log.line('log', 'c');
    log.progress(1);
    await world.advance(60_000);
    await log.flush();
    assert.equal(shipments.length, 1);
    assert.deepEqual(world.waits, []);
  });

  test('whatever fails in between, each line is stored once, in order and without a gap in the numbers', async () => {
    const step = fc.record({
      lines: fc.integer({ min: 0, max: 40 }),
      size: fc.integer({ min: 0, max: 3_000 }),
      fate: fc.constantFrom('stored', 'refused', 'unknown'),
      wait: fc.integer({ min: 0, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const world = new VirtualWorld();
        const kept = new Map<number, LogEntry>();
        let fate = 'stored';
        let written = 0;
        let droppedLines = 0;
        const log = new TaskLog({
          timers: world.timers,
          now: world.clock.wall,
          ship: async (entries) => {
            if (fate === 'refused') throw fault('STORE_BUSY');
            for (const entry of entries) {
              if (kept.has(entry.seq)) assert.deepEqual(entry, kept.get(entry.seq));
              kept.set(entry.seq, entry);
            }
            if (fate === 'unknown') throw fault('TIMEOUT');
          },
        });
        for (const { lines, size, wait, ...rest } of steps) {
          fate = rest.fate;
          for (let i = 0; i < lines; i++) log.line('stdout', `${written++}`.padEnd(size, ' '));
          await world.advance(wait);
        }
        fate = 'stored';
        const flushed = log.flush();
        await world.advance(2_000);
        await flushed;
        assert.deepEqual(
          [...kept.keys()],
          Array.from(kept, (_, i) => i + 1),
        );
        let next = 0;
        for (const { stream, text } of kept.values()) {
          if (stream === 'system') {
            const lost = Number(/^\[… ([\d,]+) lines? /.exec(text)?.[1]?.replaceAll(',', ''));
            droppedLines += lost;
            next += lost;
          } else assert.equal(Number(text), next++);
        }
        assert.equal(next, written, `${droppedLines} dropped`);
      }),
      { numRuns: 150, seed: 19 },
    );
  });
});

describe('flush', () => {
  test('it resolves when all that is left is stored, and does not wait for the pace', async () => {
    const { world, log, stored } = quick();
    log.line('log', 'a');
    await world.advance(0);
    log.line('log', 'b');
    const flushed = log.flush();
    await world.advance(0);
    await flushed;
    assert.deepEqual(
      stored.map(({ text }) => text),
      ['a', 'b'],
    );
    assert.equal(log.unsent, 0);
  });

  test('a log with nothing to say is flushed at once', async () => {
    await rig().log.flush();
  });

  test('it cuts a long backoff short', async () => {
    const { world, log, shipments, latest } = rig();
    log.line('log', 'a');
    await world.advance(0);
    for (let i = 0; i < 7; i++) {
      await latest().fail(fault('STORE_BUSY'));
      await world.advance(5_000);
    }
    await latest().fail(fault('STORE_BUSY'));
    const before = shipments.length;
    const flushed = log.flush();
    await world.advance(0);
    assert.equal(shipments.length, before + 1);
    await latest().store();
    await flushed;
  });

  test('a full disk holds it for two seconds and no longer', async () => {
    const world = new VirtualWorld();
    let tried = 0;
    const ship = async (): Promise<void> => {
      tried++;
      throw fault('STORE_FULL');
    };
    const log = new TaskLog({ timers: world.timers, now: world.clock.wall, ship });
    log.line('log', 'a');
    let over = false;
    const flushed = log.flush().then(() => (over = true));
    await world.advance(1_999);
    assert.equal(over, false);
    await world.advance(1);
    await flushed;
    assert.ok(tried >= 4, `tried ${tried} times`);
    assert.equal(log.unsent, 1);
    assert.deepEqual(world.waits, []);
  });

  test('a store that is away is waited for, however long it takes', async () => {
    const { world, log, latest } = rig({ flushMs: 300 });
    log.line('stdout', 'a');
    const flushed = log.flush();
    await world.advance(0);
    for (let i = 0; i < 100; i++) {
      await latest().fail(fault('STORE_UNAVAILABLE'));
      await world.advance(6_000);
    }
    await latest().store();
    await flushed;
    assert.equal(log.unsent, 0);
  });

  test('a slow store gets everything: each success gives it more time', async () => {
    const { world, log, shipments, latest } = rig({ flushMs: 1_000 });
    for (let i = 0; i < 5_000; i++) log.line('stdout', `${i}`.padEnd(500, '.'));
    const flushed = log.flush();
    await world.advance(0);
    for (let i = 0; i < 100 && log.unsent > 0; i++) {
      await latest().fail(fault('STORE_FULL'));
      await world.advance(200);
      await latest().store();
      await world.advance(200);
    }
    await flushed;
    const stored = new Set(shipments.flatMap(({ entries }) => entries.map(({ seq }) => seq)));
    assert.equal(stored.size, 5_000);
  });

  test('a lease that is lost, and a session that is closed, end it', async () => {
    for (const end of ['LEASE_LOST', 'STORE_CLOSED'] as const) {
      const { world, log, latest } = rig();
      log.line('log', 'a');
      const flushed = log.flush();
      await world.advance(0);
      await latest().fail(fault(end));
      await flushed;
      assert.deepEqual([log.unsent, world.waits], [1, []]);
    }
    const { world, log } = rig();
    log.line('log', 'a');
    await world.advance(0);
    const flushed = log.flush();
    log.abandon();
    await flushed;
  });

  test('a process that was stopped for longer than a flush may take stores its lines when it goes on', async () => {
    const { world, log, latest } = rig({ flushMs: 300 });
    log.line('stdout', 'a');
    const flushed = log.flush();
    await world.advance(0);
    world.elapse(10_000);
    // The timer fires before the answer of the store, which was waiting too.
    await world.advance(0);
    await latest().store();
    await flushed;
    assert.equal(log.unsent, 0);
  });
});

describe('bounds', () => {
  test('what comes faster than it can be stored waits, and all of it is stored', async () => {
    const { world, log, shipments, latest } = rig();
    log.line('stdout', 'first');
    await world.advance(0);
    const lines = 6_234;
    for (let i = 0; i < lines; i++) log.line('stdout', `${i}`.padEnd(1_000, '.'));
    const flushed = log.flush();
    for (let i = 0; i < 500 && log.unsent > 0; i++) {
      await latest().store();
      await world.advance(100);
    }
    await flushed;
    const stored = shipments.flatMap(({ entries }) => entries);
    assert.deepEqual(
      stored.map(({ seq, text }) => `${seq} ${text.replace(/\.*$/, '')}`),
      ['1 first', ...Array.from({ length: lines }, (_, i) => `${i + 2} ${i}`)],
    );
  });

  test('it is full while 256 KiB wait, until half of them are stored', async () => {
    const { world, log, latest } = rig();
    let rooms = 0;
    log.onRoom(() => rooms++);
    assert.deepEqual([log.full, rooms], [false, 1]);
    while (!log.full) log.line('stdout', 'x'.repeat(1_000));
    log.onRoom(() => rooms++);
    await world.advance(0);
    await latest().store();
    await world.advance(0);
    assert.deepEqual([log.full, rooms], [true, 1]);
    await latest().store();
    await world.advance(0);
    assert.deepEqual([log.full, rooms], [false, 2]);
  });

  test('a writer of empty lines is bounded too', async () => {
    const { world, log, latest } = rig();
    for (let i = 0; i < 1_000_000; i++) log.line('stdout', '');
    assert.ok(log.unsent <= 328_000, `${log.unsent} entries wait`);
    await world.advance(0);
    assert.ok(latest().entries.length <= 2_048);
  });

  test('an attempt stores at most its total, then one marker, then nothing', async () => {
    const { world, log, stored, texts } = quick({ maxBytes: 10_000 });
    for (let i = 0; i < 40; i++) {
      log.line('stdout', `${i}`.padEnd(1_000));
      log.progress(i);
      await world.advance(100);
    }
    assert.ok(bytesOf(stored) > 8_000 && bytesOf(stored) < 10_200, `${bytesOf(stored)} bytes`);
    assert.equal(texts().at(-1), '[truncated: the log of an attempt holds at most 9.8 KB; further lines are counted]');
    assert.equal(stored.filter(({ stream }) => stream === 'system').length, 1);
    const kept = stored.length - 1;
    await Promise.all([log.flush(), world.advance(100)]);
    assert.match(
      texts().at(-1) ?? '',
      /^\[… \d+ lines \(\d+ KB\) dropped: the log of an attempt holds at most 9\.8 KB …\]$/,
    );
    // Each dropped entry took a number: a reader counts them by the gap.
    assert.equal(stored.at(-1)?.seq, 80 + 2);
    assert.equal((stored.at(-1)?.seq ?? 0) - (stored.at(-2)?.seq ?? 0) - 1, 80 - kept);
  });

  test('the default total is 10 MB', async () => {
    const { world, log, texts } = quick();
    for (let i = 0; i < 110; i++) {
      for (let n = 0; n < 10; n++) log.line('stdout', 'x'.repeat(10_000));
      await world.advance(200);
    }
    assert.equal(texts().at(-1), '[truncated: the log of an attempt holds at most 10 MB; further lines are counted]');
    assert.ok(texts().length > 1_000);
  });

  test('what the worker says about the run is kept in the midst of a flood, and beyond the total', async () => {
    const { world, log, stored } = quick({ maxBytes: 300 * KIB });
    for (let i = 0; i < 1_000; i++) log.line('stdout', 'x'.repeat(1_000));
    log.line('system', 'told to stop');
    await world.advance(1_000);
    for (let i = 0; i < 1_000; i++) log.line('stdout', 'x'.repeat(1_000));
    log.line('system', 'killed');
    await world.advance(1_000);
    const said = stored.filter(({ stream }) => stream === 'system').map(({ text }) => text);
    assert.ok(said.includes('told to stop') && said.includes('killed'), said.join('\n'));
    assert.ok(
      said.some((text) => text.startsWith('[truncated')),
      said.join('\n'),
    );
  });

  test('a line above 16 KiB is cut between two characters and says how long it was', async () => {
    const { world, log, texts } = quick();
    log.line('stdout', 'é'.repeat(700_000));
    log.line('stdout', `${'x'.repeat(16 * KIB - 1)}😀`);
    log.line('stdout', 'x'.repeat(16 * KIB));
    await world.advance(100);
    assert.equal(texts()[0], `${'é'.repeat(8 * KIB)} [… cut: the line has 1.3 MB]`);
    assert.equal(texts()[1], `${'x'.repeat(16 * KIB - 1)} [… cut: the line has 16 KB]`);
    assert.equal(texts()[2], 'x'.repeat(16 * KIB));
  });

  test('50 MB a second against a store that takes 64 KiB a second stay within a small heap', async () => {
    const said = await inSmallHeap<{ stored: number; dropped: number; written: number }>(`
      let stored = 0, dropped = 0, written = 0;
      const log = new TaskLog({
        timers: world.timers,
        now: world.clock.wall,
        ship: (entries) => new Promise((resolve) => world.timers.after(1000, () => {
          for (const { stream, text } of entries) {
            if (stream === 'stdout') stored++;
            else dropped += Number(/^\\[… ([\\d,]+) line/.exec(text)?.[1].replaceAll(',', '') ?? 0);
          }
          resolve();
        })),
        flushMs: 60_000,
      });
      for (let i = 0; i < 500; i++) {
        for (const line of chunk().split('\\n')) {
          log.line('stdout', line);
          written++;
        }
        await world.advance(20);
      }
      const flushed = log.flush();
      await world.advance(600_000);
      await flushed;
      parentPort.postMessage({ stored, dropped, written });`);
    assert.ok(said.stored > 1_000, `${said.stored} stored`);
    assert.equal(said.stored + said.dropped, said.written);
  });

  test('a line that waits does not keep the chunk alive that it was cut from', async () => {
    const waiting = await inSmallHeap<number>(`
      const log = new TaskLog({ timers: world.timers, now: world.clock.wall, ship: () => new Promise(() => {}) });
      for (let i = 0; i < 200; i++) log.line('stdout', chunk().slice(0, 99));
      parentPort.postMessage(log.unsent);`);
    assert.equal(waiting, 200);
  });
});

/** Runs in a thread with 32 MB of heap: who keeps more of the chunks of 1 MB ends it as ERR_WORKER_OUT_OF_MEMORY. */
async function inSmallHeap<T>(code: string): Promise<T> {
  const modules = {
    logs: new URL('./task-log.ts', import.meta.url).href,
    world: new URL('../../store/conformance/kit/virtual-world.ts', import.meta.url).href,
  };
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { TaskLog } = await import(workerData.logs);
    const { VirtualWorld } = await import(workerData.world);
    const world = new VirtualWorld();
    const bytes = Buffer.alloc(1_000_000, 'x'.repeat(99) + '\\n');
    const chunk = () => bytes.toString('latin1');
    ${code}`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: modules,
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8 },
  });
  const [said] = (await once(worker, 'message')) as [T];
  return said;
}

describe('progress', () => {
  test('only the latest value that has not left is kept', async () => {
    const { world, log, shipments, latest } = rig();
    log.line('log', 'begin');
    await world.advance(0);
    for (let i = 0; i <= 1_000; i++) log.progress({ done: i, of: 1_000 });
    log.line('log', 'end');
    await latest().store();
    await world.advance(100);
    assert.deepEqual(textsOf(latest()), ['{"done":1000,"of":1000}', 'end']);
    assert.equal(latest().entries[0]?.stream, 'progress');
    log.progress(0.5);
    await latest().store();
    await world.advance(100);
    assert.deepEqual(textsOf(latest()), ['0.5']);
    assert.equal(shipments.length, 3);
  });

  test('it has its place however many lines wait, and does not wait for the end of the flood', async () => {
    const { world, log, stored } = quick();
    for (let i = 0; i < 10_000; i++) log.line('stdout', 'x'.repeat(100));
    log.progress('y'.repeat(16_000));
    await world.advance(1_000);
    assert.equal(stored.filter(({ stream }) => stream === 'progress').length, 1);
    for (let i = 0; i < 100; i++) {
      for (let n = 0; n < 600; n++) log.line('stdout', 'x'.repeat(100));
      log.progress(i);
      await world.advance(25);
    }
    const seen = stored.filter(({ stream }) => stream === 'progress').length;
    assert.ok(seen > 20, `${seen} values in 2.5 s`);
  });

  test('what cannot be stored becomes a line that says why, once in a row', async () => {
    const { world, log, stored } = quick();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const hostile = {
      toJSON(): never {
        throw new Error('not today');
      },
    };
    for (const value of [loop, Number.NaN, Number.NaN, 10n, 'x'.repeat(20_000), hostile, () => 1]) log.progress(value);
    await world.advance(0);
    assert.ok(stored.every(({ stream }) => stream === 'system'));
    assert.deepEqual(
      stored.map(({ text }) => text),
      [
        '[progress not kept: The progress is not valid: a reference back to an object that contains it at $.self.]',
        '[progress not kept: The progress is not valid: the number NaN cannot be stored at $.]',
        '[progress not kept: The progress is not valid: a bigint cannot be stored at $.]',
        '[progress not kept: The progress is too large; the limit in bytes is 16384.]',
        '[progress not kept: The progress is not valid: it cannot be turned into JSON (not today).]',
        '[progress not kept: The progress is not valid: a function cannot be stored at $.]',
      ],
    );
  });
});

describe('hostile text', () => {
  test('NUL and half surrogate pairs are replaced, everything else stays', async () => {
    const { world, log, texts } = quick();
    log.line('stdout', 'a\0b \uD83D c\uDE00 \u001b[31m😀');
    await world.advance(0);
    assert.deepEqual(texts(), ['a\uFFFDb \uFFFD c\uFFFD \u001b[31m😀']);
  });

  test('a line of NULs grows when they are replaced, and is cut all the same', async () => {
    const { world, log, stored } = quick();
    log.line('stdout', '\0'.repeat(16 * KIB));
    await world.advance(0);
    assert.ok(bytesOf(stored) < 16 * KIB + 64);
    assert.ok(stored[0]?.text.isWellFormed());
  });

  test('no value that a handler can hand in makes it throw', async () => {
    const { world, log, texts } = quick();
    const values: unknown[] = [
      undefined,
      null,
      7,
      Symbol('s'),
      {
        toString: () => {
          throw new Error('no');
        },
      },
      Object.create(null),
    ];
    for (const value of values) log.line('log' as Stream, value as string);
    await world.advance(0);
    assert.deepEqual(texts(), ['undefined', 'null', '7', 'Symbol(s)']);
  });

  test('a way out that throws instead of rejecting is a failed shipment', async () => {
    const world = new VirtualWorld();
    let tried = 0;
    const ship = (): never => {
      tried++;
      throw new Error('no connection');
    };
    const log = new TaskLog({ timers: world.timers, now: world.clock.wall, ship });
    log.line('log', 'a');
    await world.advance(100);
    assert.equal(tried, 2);
  });
});
