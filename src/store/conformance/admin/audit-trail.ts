import assert from 'node:assert/strict';
import type { AuditEntry, AuditQuery, NewAuditEntry, Store } from '../../store.ts';
import { DAY, HOUR, MINUTE, refusal, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const ENTRY: NewAuditEntry = {
  actor: 'anna',
  role: 'operator',
  token: 7,
  by: 'anna at home',
  action: 'editLimit',
  target: 'papers',
  face: 'http',
  address: '10.0.0.7',
  request: 'r-1',
  outcome: 'done',
  status: 200,
  before: '{"concurrent":1}',
  after: '{"concurrent":2}',
};
const STRANGER: NewAuditEntry = {
  actor: 'nobody',
  role: 'none',
  action: 'revokeToken',
  target: '',
  face: 'http',
  outcome: 'refused',
  status: 401,
  code: 'UNAUTHENTICATED',
};

const add = (store: Store, entry: Partial<NewAuditEntry> = {}): Promise<number> =>
  store.auditAdd({ ...ENTRY, ...entry });
const list = (store: Store, query: Partial<AuditQuery> = {}): Promise<readonly AuditEntry[]> =>
  store.auditList({ limit: 100, ...query });
const idsOf = (entries: readonly AuditEntry[]): readonly number[] => entries.map(({ id }) => id);

interface Pruning {
  readonly strangers: number;
  readonly limit: number;
}

/** Removes what is older than an hour. */
async function pruner(scene: Scene): Promise<(more?: Partial<Pruning>) => Promise<number>> {
  const duty = await scene.duty('pruner', 30 * DAY);
  return (more) => scene.store.auditPrune({ duty, retentionMs: HOUR, strangers: 100, limit: 100, ...more });
}

/** Who did what. The recount of counters has a suite of its own in `audit.ts`. */
export const AUDIT_TRAIL: Topic = {
  name: 'audit trail',
  needs: ['whole'],
  cases: {
    'an entry is kept as it was given, with its number and the time of the store': async (scene) => {
      const { store } = scene;
      const { calendar } = await store.clock();
      const id = await add(store);
      const [entry] = await list(store);
      assert.ok(entry !== undefined && entry.at >= calendar);
      assert.deepEqual(entry, { ...ENTRY, code: undefined, id, at: entry.at, endedAt: undefined, times: 1 });
      await store.auditAdd({ ...STRANGER, times: 40 });
      const [stranger] = await list(store);
      const { token, by, address, request, before, after, times, code } = stranger as AuditEntry;
      assert.deepEqual([token, by, address, request, before, after], Array(6).fill(undefined));
      assert.deepEqual([times, code], [40, 'UNAUTHENTICATED']);
    },

    'what began ends once, and keeps what it was about': async (scene) => {
      const { store } = scene;
      const id = await add(store, { outcome: 'began', status: undefined, after: undefined });
      const other = await add(store, { outcome: 'began' });
      await scene.pass(MINUTE);
      assert.equal(await store.auditEnd({ id, outcome: 'done', status: 201, after: '{"id":9}', target: '9' }), true);
      assert.equal(await store.auditEnd({ id, outcome: 'refused', status: 409, code: 'CONFLICT' }), false);
      assert.equal(await store.auditEnd({ id: 999_999, outcome: 'done', status: 200 }), false);
      const [last, first] = await list(store);
      assert.deepEqual([last?.id, last?.outcome, last?.endedAt], [other, 'began', undefined]);
      const { outcome, status, code, target, before, after, at, endedAt } = first as AuditEntry;
      assert.deepEqual(
        [outcome, status, code, target, before, after],
        ['done', 201, undefined, '9', ENTRY.before, '{"id":9}'],
      );
      assert.ok(endedAt !== undefined && endedAt >= at + MINUTE);
    },

    'an end without a target leaves the one that there was, and an entry that did not begin has no end': async ({
      store,
    }) => {
      const id = await add(store, { outcome: 'began' });
      assert.equal(await store.auditEnd({ id, outcome: 'failed', status: 500, code: 'INTERNAL' }), true);
      assert.deepEqual(
        (await list(store)).map(({ target, outcome, code }) => [target, outcome, code]),
        [['papers', 'failed', 'INTERNAL']],
      );
      const whole = await add(store, { outcome: 'done' });
      assert.equal(await store.auditEnd({ id: whole, outcome: 'refused', status: 400 }), false);
    },

    'entries are listed from the newest on, page by page': async ({ store }) => {
      const ids: number[] = [];
      for (let n = 0; n < 7; n++) ids.push(await add(store, { target: `t${n}` }));
      const seen: number[] = [];
      for (let before: number | undefined; ; ) {
        const page = idsOf(await list(store, { limit: 3, before }));
        seen.push(...page);
        before = page.at(-1);
        if (page.length < 3) break;
      }
      assert.deepEqual(seen, ids.toReversed());
    },

    'entries are found by who, what, whom, the way, the outcome and the time, and by all of them': async (scene) => {
      const { store } = scene;
      const old = await add(store);
      await scene.pass(HOUR);
      const noon = (await store.clock()).calendar;
      const byBob = await add(store, { actor: 'bob' });
      const paused = await add(store, { action: 'pauseQueue', target: 'mail', face: 'ui' });
      const refused = await add(store, { outcome: 'refused', face: 'mcp', status: 403 });
      const find = async (query: Partial<AuditQuery>): Promise<readonly number[]> => idsOf(await list(store, query));
      assert.deepEqual(await find({ actor: 'bob' }), [byBob]);
      assert.deepEqual(await find({ action: 'pauseQueue' }), [paused]);
      assert.deepEqual(await find({ target: 'mail' }), [paused]);
      assert.deepEqual(await find({ face: 'mcp' }), [refused]);
      assert.deepEqual(await find({ outcome: 'refused' }), [refused]);
      assert.deepEqual(await find({ since: noon }), [refused, paused, byBob]);
      assert.deepEqual(await find({ until: noon }), [old]);
      assert.deepEqual(await find({ since: noon + DAY }), []);
      assert.deepEqual(await find({ actor: 'anna', action: 'editLimit', target: 'papers', since: noon }), [refused]);
      assert.deepEqual(await find({ actor: 'bob', outcome: 'refused' }), []);
      assert.deepEqual(await find({ actor: "'; DROP TABLE audit_entry; --" }), []);
    },

    'entries go when they are older than their retention, whatever became of them': async (scene) => {
      const { store } = scene;
      const prune = await pruner(scene);
      await add(store);
      await add(store, { outcome: 'began' });
      assert.equal(await prune(), 0);
      await scene.pass(HOUR + 1);
      const young = await add(store);
      assert.equal(await prune({ limit: 1 }), 1);
      assert.equal(await prune(), 1);
      assert.deepEqual(idsOf(await list(store)), [young]);
    },

    'of refused strangers the newest are kept, and of nobody else any goes for their number': async (scene) => {
      const { store } = scene;
      const prune = await pruner(scene);
      const anna = await add(store, { outcome: 'refused' });
      const login = await store.auditAdd({ ...STRANGER, outcome: 'done', status: 200 });
      const ids: number[] = [];
      for (let n = 0; n < 8; n++) ids.push(await store.auditAdd(STRANGER));
      assert.equal(await prune({ strangers: 3, limit: 4 }), 4);
      assert.equal(await prune({ strangers: 3 }), 1);
      assert.equal(await prune({ strangers: 3 }), 0);
      assert.deepEqual(idsOf(await list(store)), [...ids.slice(5).toReversed(), login, anna]);
    },

    'who does not hold the duty removes nothing': async (scene) => {
      const { store } = scene;
      await add(store);
      await scene.pass(2 * HOUR);
      const duty = { name: 'pruner', epoch: 99 };
      assert.equal(await refusal(store.auditPrune({ duty, retentionMs: HOUR, strangers: 0, limit: 10 })), 'DUTY_LOST');
      assert.equal((await list(store)).length, 1);
    },

    'hostile text is kept as text': async ({ store }) => {
      const target = `<script>alert(1)</script> \u202e '";--`;
      await add(store, { target, by: target, after: JSON.stringify({ name: target }) });
      const [entry] = await list(store, { target });
      assert.deepEqual([entry?.target, entry?.by, JSON.parse(entry?.after ?? '')], [target, target, { name: target }]);
    },

    'an entry is there for every process': needing(['reopen'], async (scene) => {
      const id = await add(scene.store, { outcome: 'began' });
      const other = await scene.reopen();
      assert.equal(await other.auditEnd({ id, outcome: 'done', status: 200 }), true);
      assert.deepEqual(await list(other), await list(scene.store));
      const ids = await Promise.all(
        Array.from({ length: 20 }, (_, n) => add((n % 2 ? other : scene.store) as Store, { target: `${n}` })),
      );
      assert.equal(new Set(ids).size, 20);
      assert.equal((await list(other)).length, 21);
    }),
  },
};
