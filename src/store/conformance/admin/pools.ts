import assert from 'node:assert/strict';
import { NEVER } from '../../../core/schedule/due.ts';
import type { NewTicket, PoolAct, PoolActed, PoolLook, PoolMember, Store, TicketRecord } from '../../store.ts';
import { HOUR, MINUTE, refusal, type Scene, TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const NAME = 'papers';
const DECISION = { course: '1', body: '{}' };
const BODY = '{"policy":{"max":5}}';
const STALE = 30_000;
const START = MINUTE;

let made = 0;
/** Tickets whose hashes tell them apart. */
const tickets = (count: number): readonly NewTicket[] =>
  Array.from({ length: count }, () => {
    made += 1;
    return { id: `tk-${made}`, hash: `hash of ${made}` };
  });

const put = (scene: Scene, name = NAME): Promise<unknown> => scene.store.poolPut({ name, body: BODY, by: 'ann' });

async function act(store: Store, wish: Partial<PoolAct> = {}): Promise<PoolActed> {
  const plain = { name: NAME, staleMs: STALE, tickets: [], upTo: 5, ttlMs: START, drain: [], decision: undefined };
  const acted = await store.poolAct({ ...plain, ...wish });
  assert.ok(acted, 'there is no such pool');
  return acted;
}

async function look({ store }: Scene, name = NAME): Promise<PoolLook> {
  const found = await store.poolLook({ name, staleMs: STALE });
  assert.ok(found, 'there is no such pool');
  return found;
}

/** Reserves tickets and answers those that were. */
async function reserve(scene: Scene, count: number, upTo = 5): Promise<readonly NewTicket[]> {
  const asked = tickets(count);
  return asked.slice(0, (await act(scene.store, { tickets: asked, upTo })).reserved);
}

const arrive = ({ store }: Pick<Scene, 'store'>, ticket: NewTicket, incarnation = `i ${ticket.id}`): Promise<number> =>
  store.workerRegister({ name: `w-${ticket.id}`, incarnation, slots: 1, tags: [], redeems: ticket });

const statesOf = async ({ store }: Scene): Promise<readonly string[]> =>
  (await store.ticketList({ pool: NAME, before: NEVER, limit: 100 })).map(({ state }) => state);

async function recordOf({ store }: Scene, { id }: NewTicket): Promise<TicketRecord> {
  const found = (await store.ticketList({ pool: NAME, before: NEVER, limit: 100 })).find((one) => one.id === id);
  assert.ok(found, `there is no ticket ${id}`);
  return found;
}

async function memberOf(scene: Scene, worker: number): Promise<PoolMember> {
  const found = (await look(scene)).members.find((one) => one.worker === worker);
  assert.ok(found, `worker ${worker} is not there`);
  return found;
}

export const POOLS: Topic = {
  name: 'pools',
  needs: ['whole'],
  cases: {
    'a pool is kept with who changed it and when, and listed by name': async (scene) => {
      const { store } = scene;
      const at = scene.world.clock.wall();
      const first = await store.poolPut({ name: NAME, body: BODY, by: 'ann' });
      assert.ok(first.kind === 'done');
      await scene.pass(HOUR);
      const second = await store.poolPut({ name: NAME, body: '{}', by: 'bob', revision: first.revision });
      assert.ok(second.kind === 'done' && second.revision !== first.revision);
      assert.deepEqual(await store.poolGet({ name: NAME }), {
        name: NAME,
        body: '{}',
        revision: second.revision,
        createdAt: at,
        changedAt: at + HOUR,
        changedBy: 'bob',
        upAt: undefined,
        downAt: undefined,
      });
      for (const name of ['b', 'a']) await put(scene, name);
      const names = async (after: string): Promise<readonly string[]> =>
        (await store.poolList({ after, limit: 2 })).map(({ name }) => name);
      assert.deepEqual([await names(''), await names('b')], [['a', 'b'], [NAME]]);
    },

    'a pool that somebody has changed meanwhile is not changed': async (scene) => {
      const { store } = scene;
      const first = await store.poolPut({ name: NAME, body: BODY, by: 'ann', revision: 0 });
      assert.ok(first.kind === 'done');
      await store.poolPut({ name: NAME, body: '{"n":2}', by: 'bob' });
      const late = await store.poolPut({ name: NAME, body: '{"n":3}', by: 'ann', revision: first.revision });
      assert.deepEqual(late, { kind: 'changed' });
      assert.deepEqual(await store.poolPut({ name: NAME, body: BODY, by: 'ann', revision: 0 }), { kind: 'changed' });
      assert.deepEqual(await store.poolPut({ name: 'no', body: BODY, by: 'ann', revision: 7 }), { kind: 'changed' });
      assert.equal(await store.poolGet({ name: 'no' }), undefined);
      assert.equal((await store.poolGet({ name: NAME }))?.body, '{"n":2}');
    },

    'no more tickets are reserved than there is room for beside the workers that are there or on their way': async (
      scene,
    ) => {
      await put(scene);
      assert.equal((await reserve(scene, 3)).length, 3);
      const asked = tickets(4);
      const acted = await act(scene.store, { tickets: asked });
      assert.deepEqual([acted.reserved, acted.there], [2, 5], 'three were on their way');
      assert.deepEqual((await act(scene.store, { tickets: tickets(1) })).reserved, 0);
      await arrive(scene, asked[0] as NewTicket);
      const full = await act(scene.store, { tickets: tickets(1) });
      assert.deepEqual([full.reserved, full.there], [0, 5], 'who has come takes the place of its ticket');
      await scene.store.workerRegister({ name: 'by-hand', incarnation: 'i', slots: 1, tags: [], pool: NAME });
      assert.equal((await look(scene)).members.length, 2);
      assert.equal((await act(scene.store, { tickets: tickets(9), upTo: 7 })).reserved, 1, 'it counts as well');
      const { upAt, downAt } = (await look(scene)).pool;
      assert.deepEqual([upAt, downAt], [(await scene.store.clock()).lease, undefined]);
    },

    'checks at the same instant reserve no more together than one alone': needing(['reopen'], async (scene) => {
      await put(scene);
      const stores = [scene.store, await scene.reopen(), await scene.reopen()];
      const acted = await Promise.all(
        Array.from({ length: 12 }, (_, i) => act(stores[i % 3] as Store, { tickets: tickets(4) })),
      );
      assert.equal(
        acted.reduce((sum, { reserved }) => sum + reserved, 0),
        5,
      );
      assert.deepEqual(await statesOf(scene), ['open', 'open', 'open', 'open', 'open']);
    }),

    'a look counts a worker that registers meanwhile by itself or by its ticket, never by both': needing(
      ['reopen'],
      async (scene) => {
        const other = await scene.reopen();
        await put(scene);
        const reserved = await reserve(scene, 20, 20);
        const arrivals = reserved.map((ticket) => arrive({ store: other }, ticket));
        const counts = new Set<number>();
        for (let over = false; !over; ) {
          const { open, members } = await look(scene);
          counts.add(open + members.length);
          over = members.length === 20;
        }
        await Promise.all(arrivals);
        assert.deepEqual([...counts], [20]);
      },
    ),

    'a worker that has gone, or was silent for too long, makes room': async (scene) => {
      await put(scene);
      const [a, b] = (await reserve(scene, 2, 2)) as [NewTicket, NewTicket];
      const [first, second] = [await arrive(scene, a), await arrive(scene, b)];
      assert.equal((await reserve(scene, 1, 2)).length, 0);
      await scene.store.workerBeat({ beats: [{ worker: first, state: 'offline' }] });
      assert.equal((await reserve(scene, 2, 2)).length, 1);
      await scene.pass(STALE + 1);
      assert.deepEqual((await look(scene)).members, [], 'nobody has marked it yet');
      assert.equal((await act(scene.store, { tickets: tickets(9), upTo: 2 })).reserved, 1);
      await scene.store.workerBeat({ beats: [{ worker: second }] });
      assert.equal((await act(scene.store, { tickets: tickets(9), upTo: 2 })).reserved, 0, 'it was only late');
    },

    'the pools do not see each other': async (scene) => {
      await put(scene);
      await put(scene, 'other');
      const [mine] = (await reserve(scene, 5)) as [NewTicket];
      await arrive(scene, mine);
      const acted = await act(scene.store, { name: 'other', tickets: tickets(9), decision: DECISION });
      assert.deepEqual([acted.reserved, acted.there], [5, 5]);
      assert.equal((await look(scene, 'other')).members.length, 0);
      assert.equal((await look(scene)).last, undefined);
    },

    'a ticket brings one worker, into its pool, and refuses every other one': async (scene) => {
      const { store } = scene;
      await put(scene);
      const [ticket] = (await reserve(scene, 1)) as [NewTicket];
      assert.equal((await recordOf(scene, ticket)).endedAt, undefined);
      const worker = await arrive(scene, ticket);
      const [record] = await store.workerList();
      assert.deepEqual([record?.worker, record?.pool], [worker, NAME]);
      assert.equal(await arrive(scene, ticket), worker, 'the same incarnation may repeat it');
      assert.equal(await refusal(arrive(scene, ticket, 'another')), 'TICKET_REFUSED');
      assert.equal(await refusal(arrive(scene, { ...ticket, hash: 'guessed' }, 'a thief')), 'TICKET_REFUSED');
      assert.equal(await refusal(arrive(scene, { id: 'tk-none', hash: 'x' })), 'TICKET_REFUSED');
      assert.equal((await store.workerList()).length, 1, 'who is refused leaves nothing');
      const { state, worker: by, endedAt = Number.NaN } = await recordOf(scene, ticket);
      assert.deepEqual([state, by], ['used', worker]);
      assert.ok(endedAt <= (await look(scene)).now, 'it tells when its worker came');
      assert.equal((await memberOf(scene, worker)).ticket, ticket.id);
    },

    'of several that come with one ticket at the same instant one is let in': needing(['reopen'], async (scene) => {
      await put(scene);
      const [ticket] = (await reserve(scene, 1)) as [NewTicket];
      const stores = [scene.store, await scene.reopen()];
      const answers = await Promise.allSettled(
        Array.from({ length: 6 }, (_, i) => {
          const name = `w-${i}`;
          return (stores[i % 2] as Store).workerRegister({
            name,
            incarnation: `i${i}`,
            slots: 1,
            tags: [],
            redeems: ticket,
          });
        }),
      );
      assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await look(scene)).members.length, 1);
    }),

    'a ticket ends with its time: its worker is refused, its place is free, and its end is noted once': async (
      scene,
    ) => {
      await put(scene);
      const [late] = (await reserve(scene, 5)) as [NewTicket];
      const { nextExpiry, now } = await look(scene);
      assert.equal((nextExpiry as number) - now, START);
      await scene.pass(START);
      assert.equal(await refusal(arrive(scene, late)), 'TICKET_REFUSED');
      const { open, overdue, nextExpiry: none } = await look(scene);
      assert.deepEqual([open, overdue, none], [0, 5, undefined]);
      const acted = await act(scene.store, { tickets: tickets(2) });
      assert.deepEqual([acted.expired, acted.reserved, acted.there], [5, 2, 2]);
      assert.equal((await act(scene.store)).expired, 0);
      assert.equal(await refusal(arrive(scene, late)), 'TICKET_REFUSED');
      assert.equal((await look(scene)).failures, 5);
    },

    'a start that failed frees its place at once, and failures count until a later start has succeeded': async (
      scene,
    ) => {
      const { store } = scene;
      await put(scene);
      const [a, b, c] = (await reserve(scene, 3, 3)) as [NewTicket, NewTicket, NewTicket];
      await store.ticketNote({ id: a.id, started: 'pid 7' });
      await store.ticketNote({ id: b.id, error: 'no such host' });
      assert.deepEqual(
        [(await recordOf(scene, a)).started, (await recordOf(scene, b)).error],
        ['pid 7', 'no such host'],
      );
      const { open, failures, failedAt, now } = await look(scene);
      assert.deepEqual([open, failures, failedAt], [2, 1, now]);
      assert.equal(await refusal(arrive(scene, b)), 'TICKET_REFUSED');
      await arrive(scene, c);
      assert.equal((await look(scene)).failures, 0);
      await store.ticketNote({ id: c.id, error: 'it lies' });
      assert.equal((await recordOf(scene, c)).state, 'used', 'its worker has come all the same');
      assert.equal((await reserve(scene, 9, 3)).length, 1);
    },

    'only a worker of a ticket that has no task is sent home, and it is shown as leaving': async (scene) => {
      await put(scene);
      const [a, b] = (await reserve(scene, 2)) as [NewTicket, NewTicket];
      const [busy, idle] = [await arrive(scene, a), await arrive(scene, b)];
      const foreign = await scene.newWorker();
      const byHand = await scene.store.workerRegister({
        name: 'by-hand',
        incarnation: 'i',
        slots: 1,
        tags: [],
        pool: NAME,
      });
      await scene.running({}, { holder: busy });
      const drain = [busy, idle, foreign, byHand, 999];
      assert.deepEqual((await act(scene.store, { drain })).drained, [idle]);
      assert.deepEqual((await act(scene.store, { drain })).drained, [], 'once');
      const records = await scene.store.workerList();
      assert.deepEqual(
        records.filter(({ leaving }) => leaving).map(({ worker, revision }) => [worker, revision]),
        [[idle, 2]],
      );
      const { members, pool, now } = await look(scene);
      assert.deepEqual(
        members.map(({ worker, running, leaving }) => [worker, running, leaving]),
        [
          [busy, 1, false],
          [idle, 0, true],
          [byHand, 0, false],
        ],
      );
      assert.equal(pool.downAt, now);
      await scene.push();
      assert.deepEqual(await scene.claim({ holder: idle }), []);
    },

    'checks note since when a worker has had no task; a task that came and went between two of them counts': async (
      scene,
    ) => {
      const { store } = scene;
      await put(scene);
      const [ticket] = (await reserve(scene, 1)) as [NewTicket];
      const worker = await arrive(scene, ticket);
      assert.equal((await memberOf(scene, worker)).idleSince, undefined, 'nobody has looked yet');
      await act(store);
      const { now } = await look(scene);
      await scene.pass(1000);
      await act(store);
      assert.equal((await memberOf(scene, worker)).idleSince, now);
      await store.workerBeat({ beats: [{ worker, ended: 1 }] });
      const { seenEnded, ended } = await memberOf(scene, worker);
      assert.deepEqual([seenEnded, ended], [0, 1]);
      await act(store);
      assert.equal((await memberOf(scene, worker)).idleSince, now + 1000);
      await scene.running({}, { holder: worker, ttlMs: TTL });
      await act(store);
      assert.equal((await memberOf(scene, worker)).idleSince, undefined);
    },

    'a worker of a ticket that was lost gets no task when it comes back': async (scene) => {
      const { store } = scene;
      await put(scene);
      const [ticket] = (await reserve(scene, 1)) as [NewTicket];
      const worker = await arrive(scene, ticket);
      const other = await scene.newWorker();
      const duty = await scene.duty();
      await scene.pass(STALE + 1);
      assert.deepEqual(await store.workerReap({ duty, staleMs: STALE }), [worker, other]);
      await store.workerBeat({ beats: [{ worker }, { worker: other }] });
      const records = await store.workerList();
      assert.deepEqual(
        records.map(({ state, leaving }) => [state, leaving]),
        [
          ['online', true],
          ['online', undefined],
        ],
      );
      assert.equal((await memberOf(scene, worker)).leaving, true);
      await scene.push();
      assert.deepEqual(await scene.claim({ holder: worker }), []);
      assert.equal((await scene.claim({ holder: other })).length, 1);
    },

    'the newest decisions are kept, and the newest tickets that are over': async (scene) => {
      const { store } = scene;
      await put(scene);
      for (let i = 1; i <= 205; i++) {
        const [ticket] = (await reserve(scene, 1)) as [NewTicket];
        await store.ticketNote({ id: ticket.id, error: 'no' });
        await act(store, { decision: { course: `${i}`, body: `{"n":${i}}` } });
      }
      const newest = await store.decisionList({ pool: NAME, before: NEVER, limit: 500 });
      assert.deepEqual([newest.length, newest[0]?.body, newest.at(-1)?.body], [200, '{"n":205}', '{"n":6}']);
      const page = await store.decisionList({ pool: NAME, before: newest[1]?.n as number, limit: 1 });
      assert.deepEqual([page.length, page[0]?.body], [1, '{"n":203}']);
      assert.equal((await look(scene)).last?.n, newest[0]?.n);
      assert.equal((await store.ticketList({ pool: NAME, before: NEVER, limit: 500 })).length, 200);
    },

    'a decision that came to nothing and says what the last one has said is not kept once more': async (scene) => {
      const { store } = scene;
      await put(scene);
      for (let i = 0; i < 3; i++) await act(store, { decision: DECISION });
      await act(store, { decision: { ...DECISION, course: '2' } });
      await act(store, { decision: { ...DECISION, course: '2' }, tickets: tickets(1) });
      const kept = await store.decisionList({ pool: NAME, before: NEVER, limit: 9 });
      assert.deepEqual(
        kept.map(({ course, launched, drained }) => [course, launched, drained]),
        [
          ['2', 1, 0],
          ['2', 0, 0],
          ['1', 0, 0],
        ],
      );
    },

    'a removed pool takes its tickets and decisions with it, and leaves its workers': async (scene) => {
      const { store } = scene;
      await put(scene);
      const [a, b] = (await reserve(scene, 2)) as [NewTicket, NewTicket];
      const worker = await arrive(scene, a);
      await act(store, { decision: DECISION });
      assert.equal(await store.poolRemove({ name: NAME }), true);
      assert.equal(await store.poolRemove({ name: NAME }), false);
      assert.equal(await refusal(arrive(scene, b)), 'TICKET_REFUSED');
      assert.equal((await store.workerList())[0]?.worker, worker);
      const plain = { name: NAME, staleMs: STALE, tickets: tickets(1), upTo: 5, ttlMs: START, drain: [] };
      assert.equal(await store.poolAct({ ...plain, decision: undefined }), undefined);
      assert.equal(await store.poolLook({ name: NAME, staleMs: STALE }), undefined);
      await put(scene);
      const { open, members, last } = await look(scene);
      assert.deepEqual([open, members.length, last], [0, 1, undefined]);
      assert.deepEqual(await store.ticketList({ pool: NAME, before: NEVER, limit: 9 }), []);
    },
  },
};
