import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import {
  type Actor,
  direct,
  type Fault,
  interleave,
  type Outcome,
  type Scenario,
  type Stage,
} from '../../../test/support/interleaving.ts';
import { TANGLE, TANGLES } from '../../../test/support/interleaving-batches.ts';
import { PAIRS } from '../../../test/support/interleaving-pairs.ts';
import { TRIPLES } from '../../../test/support/interleaving-triples.ts';
import { RUNS, TURNS } from '../../../test/support/interleaving-turns.ts';
import type { Case } from '../../../test/support/interleaving-verbs.ts';
import { WAITS } from '../../../test/support/interleaving-waits.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { adminOf, stopClock } from '../../../test/support/postgres-contract.ts';
import { full, scaled } from '../../../test/support/scale.ts';
import { realWorld } from '../../app/world.ts';
import { Scene } from '../conformance/kit/scene.ts';
import { checkBooks, lookAt, numberEvents } from '../conformance/kit/snapshot.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import type { DutyTenure } from '../store.ts';
import { parseAddress } from './connect/address.ts';
import { Connection } from './connect/connection.ts';
import { Lanes } from './lanes.ts';
import { openPostgres } from './open.ts';
import { statements } from './statements.ts';
import type { PostgresStore } from './store.ts';

const SCHEMA = 'steps';
const NOON = Date.UTC(2026, 0, 5, 12);

const FAULTS: readonly Fault[] = [
  'dies',
  'is undone and sent again',
  'is done and sent again',
  'is sent twice and done',
  'is sent twice and undone',
];

/** The tables that a schedule may have filled. Queues, lanes and the tables of days stay. */
const TABLES =
  'task done outbox event uniq op log attempt body worker worker_setting flight qstat trigger_def trigger_fire dep dep_carry wait signal journal kept_result run definition workflow workflow_version pools pool_tickets pool_decisions'.split(
    ' ',
  );
const RESET = `${TABLES.map((table) => `DELETE FROM ${SCHEMA}.${table};`).join('')}
  DELETE FROM ${SCHEMA}.duty WHERE name <> 'feed';
  UPDATE ${SCHEMA}.duty SET cursor = 0;
  INSERT INTO ${SCHEMA}.event (seq, n, at, queue, kind, state, ids, attempts, born)
    VALUES (0, 1, 0, 0, 0, 0, '{}', '{}', '{}');
  SELECT setval('${SCHEMA}.task_id_seq', 1, false), setval('${SCHEMA}.worker_id_seq', 1, false);
  UPDATE ${SCHEMA}.test_clock SET ms = ${NOON};`;
/** The suite numbers events too, in the first term. */
const FEED = `UPDATE ${SCHEMA}.duty SET epoch = 1, until = 1000000000000000 WHERE name = 'feed';`;

describe('every order of the statements of two or three connections', { timeout: full ? 3_000_000 : 590_000 }, () => {
  let admin: pg.Client;
  let monitor: pg.Client;
  let store: PostgresStore;
  let stage: Stage;
  let schedules = 0;

  before(async () => {
    const url = await freshDatabase('steps');
    const own = `${url}&schema=${SCHEMA}&pool=1`;
    admin = await adminOf(url);
    // No case here is about power cuts.
    await admin.query(
      `ALTER DATABASE ${new URL(url.replace('@/', '@x/')).pathname.slice(1)} SET synchronous_commit = off`,
    );
    const world = realWorld();
    store = await openPostgres({
      url: own,
      world,
      prepare: (connection, schema) => stopClock(connection, schema, NOON),
    });
    await numberEvents(store);
    // The tables of the days exist before the first case.
    const duty = await store.dutyTake({ name: 'any', holder: 'the suite', ttlMs: 1 });
    await store.taskPrune({ duty: duty as DutyTenure, retentionMs: 1, limit: 1 });
    for (const table of TABLES.filter((name) => name !== 'done')) {
      await admin.query(`ALTER TABLE ${SCHEMA}.${table} SET (autovacuum_enabled = false)`);
    }
    monitor = await adminOf(url);
    const { schema, config } = parseAddress(own);
    const connect = (): Promise<Connection> => Connection.open(config, world, world.clock.monotonic() + 10_000);
    stage = { schema, texts: statements(schema), spare: [], connect, monitor, lanes: new Lanes() };
  });
  after(async (context) => {
    (context as { diagnostic?: (text: string) => void }).diagnostic?.(`${schedules} schedules`);
    for (const connection of stage.spare) await connection.close();
    await store.close();
    await monitor.end();
    await admin.end();
  });

  const pass = async (ms: number): Promise<void> => {
    await admin.query(`UPDATE ${SCHEMA}.test_clock SET ms = ms + $1`, [ms]);
  };

  const scenario = (one: Case, fault?: { readonly of: number; readonly fault: Fault }): Scenario => ({
    prepare: async () => {
      await admin.query(FEED + RESET);
      const scene = new Scene(store, new VirtualWorld(), { reopen: undefined, caller: undefined, pass });
      const acts = await one.make(scene, { ask: (text) => admin.query(text).then(() => {}) });
      return acts.map((act, i): Actor => ({ ...act, fault: fault?.of === i ? fault.fault : undefined }));
    },
    look: async () => {
      await admin.query(FEED);
      return lookAt(store);
    },
    check: (snapshot, outcome: Outcome) => {
      checkBooks(snapshot, { forgets: one.forgets ?? false });
      one.check?.(outcome);
    },
    vague: one.vague !== undefined && fault !== undefined && fault.fault !== 'dies',
  });

  for (const [list, cases] of [
    ['pairs', PAIRS],
    ['waits', WAITS],
    ['turns', TURNS],
    ['runs', RUNS],
    ['triples', TRIPLES],
  ] as const) {
    describe(list, () => {
      for (const [name, one] of Object.entries(cases)) {
        test(name, async (t) => {
          const count = await interleave(stage, scenario(one), scaled(6, 100));
          schedules += count;
          t.diagnostic(`${count} schedules`);
        });
        if (list === 'triples') continue;
        for (const of of one.faults ?? [0, 1]) {
          for (const fault of full ? FAULTS : []) {
            test(`${name}, of which the ${of === 0 ? 'first' : 'second'} ${fault}`, async () => {
              schedules += await interleave(stage, scenario(one, { of, fault }), 8);
            });
          }
        }
      }
    });
  }

  describe('batches that go through the same tasks in opposite orders do not wait for each other', () => {
    for (const [name, one] of Object.entries(TANGLES)) {
      test(name, async () => {
        await direct(stage, scenario(one), TANGLE);
        schedules++;
      });
    }
  });
});
