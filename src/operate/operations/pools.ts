import { fault } from '../../core/errors.ts';
import { type DecisionNote, decisionNote, type Pool } from '../../engine/pools.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { PoolDecisionView, PoolDetailView, PoolTicketView, PoolView } from '../views.ts';
import type { Operations } from './operation.ts';

export const poolOperations = {
  async listPools(snapshot) {
    const pools = await snapshot.engine.pools.list();
    const details = await Promise.all(pools.map(({ name }) => detailOf(snapshot, name).catch(gone)));
    return { pools: details.filter((one) => one !== undefined) };
  },

  async putPool({ engine }, { body: { name, ifRevision, ...input }, by }) {
    return viewPool(await engine.pools.put(name, input, { by, revision: ifRevision }));
  },

  getPool: (snapshot, { params }) => detailOf(snapshot, params.name),

  async removePool({ engine }, { params }) {
    const before = await engine.pools.get(params.name);
    await engine.pools.remove(params.name);
    return viewPool(before);
  },

  async checkPool({ engine }, { params, body: { dryRun = false, policy } }) {
    if (policy !== undefined && !dryRun) {
      throw fault('INVALID_INPUT', {
        field: 'policy',
        problem: 'only a dry run takes another policy than the pool has',
      });
    }
    const { plan, acted, launches } = await engine.pools.check(params.name, { dryRun, policy });
    const { launch, drain, ...note } = decisionNote(plan.state, plan.decision);
    return {
      pool: params.name,
      dryRun,
      ...note,
      launch,
      drain,
      launched: acted?.reserved ?? 0,
      drained: acted?.drained.length ?? 0,
      launches,
    };
  },

  async listPoolDecisions({ engine }, { params, query }) {
    const decisions = await engine.pools.decisions(params.name, pageOf(query));
    return { decisions: decisions satisfies readonly PoolDecisionView[] };
  },

  async listPoolTickets(snapshot, { params, query }) {
    const tickets = await snapshot.engine.pools.tickets(params.name, pageOf(query));
    const calendarOf = await snapshot.calendar();
    const workers = new Map((await snapshot.workers()).map((one) => [one.worker, one]));
    return {
      tickets: tickets.map(({ n, id, state, at, expiresAt, endedAt, started, error, worker }): PoolTicketView => {
        const by = worker === undefined ? undefined : workers.get(worker);
        const gone = by?.state === 'offline' || by?.state === 'lost';
        return {
          n,
          id,
          state,
          at,
          expiresAt: calendarOf(expiresAt),
          ...(endedAt === undefined ? {} : { endedAt: calendarOf(endedAt) }),
          ...(started === undefined ? {} : { started }),
          ...(error === undefined ? {} : { error }),
          ...(by === undefined ? {} : { worker: by.name }),
          ...(by !== undefined && gone ? { leftAt: calendarOf(by.seenAt) } : {}),
        };
      }),
    };
  },
} satisfies Operations;

/** It was removed while it was listed. */
function gone(error: unknown): undefined {
  if ((error as { code?: string }).code !== 'NOT_FOUND') throw error;
  return undefined;
}

async function detailOf({ engine }: EngineSnapshot, name: string): Promise<PoolDetailView> {
  const { pool, state, decision, againMs } = await engine.pools.plan(name);
  const problem = problemIn(await engine.pools.tickets(name, { limit: LOOKED_AT }), engine.world.clock.wall());
  return {
    ...viewPool(pool),
    now: decisionNote(state, decision) satisfies DecisionNote,
    failures: state.failures,
    ...(againMs === undefined ? {} : { againMs }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** The newest start that has come to nothing, unless a worker has come since: the launcher works again. */
function problemIn(tickets: readonly Ticket[], now: number): PoolDetailView['problem'] {
  for (const { id, state, at, started, error } of tickets) {
    if (state === 'used') return undefined;
    if (state === 'open' && (started !== undefined || now - at < SILENT_MS)) continue;
    return {
      ticket: id,
      state,
      at,
      ...(started === undefined ? {} : { started }),
      ...(error === undefined ? {} : { error }),
    };
  }
  return undefined;
}

function viewPool({ policy, ...pool }: Pool): PoolView {
  const { targetWaitMs, ...rest } = policy;
  return { ...pool, policy: { ...rest, ...(targetWaitMs === undefined ? {} : { targetWaitMs }) } };
}

type Ticket = Awaited<ReturnType<EngineSnapshot['engine']['pools']['tickets']>>[number];

/** Of the newest tickets: more than one check starts, and few enough to read for each pool of a list. */
const LOOKED_AT = 20;
/** No launcher is waited for so long. */
const SILENT_MS = 20_000;
const DEFAULT_PAGE = 50;

function pageOf({ limit = DEFAULT_PAGE, before }: { readonly limit?: unknown; readonly before?: unknown } = {}): {
  readonly limit: number;
  readonly before?: number;
} {
  if (typeof limit !== 'number') throw fault('INVALID_INPUT', { field: 'limit', problem: 'it is a number' });
  return { limit, ...(typeof before === 'number' ? { before } : {}) };
}
