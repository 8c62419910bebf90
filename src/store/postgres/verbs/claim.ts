import { PAYLOAD_APART, SUSPECT } from '../../codes.ts';
import type { ClaimRequest, Grant } from '../../store.ts';
import { numbers } from '../arrays.ts';
import type { Session, Try } from '../database.ts';
import type { PostgresParts } from '../parts.ts';
import { priorityOf } from '../prio.ts';

/** The columns of `GRANT` in statements.ts. */
type GrantRow = readonly [
  id: number,
  attempt: number,
  tries: number,
  maxTries: number,
  bounces: number,
  lane: number,
  spec: number,
  prio: number,
  flags: number,
  createdAt: number,
  leaseUntil: number,
  payload: string | null,
];
type ClaimRow = readonly [enabled: boolean, ...grant: GrantRow];

const OP_MS = 24 * 3_600_000;

/** Of this worker: two that chose the same id must not share a grant. */
const opKey = ({ holder, op }: ClaimRequest): string => `claim:${holder}:${op}`;

/** One claim. `note` names it, so that its grants are found again when its answer was lost. */
export async function claimTasks(
  session: Session,
  parts: PostgresParts,
  request: ClaimRequest,
  note: string,
  tried: Try,
): Promise<readonly Grant[] | undefined> {
  const before = tried.again ? await lostGrants(session, parts, note) : [];
  if (before.length > 0) return before;
  if (request.op !== undefined) {
    const again = await earlierGrants(session, parts, request);
    if (again !== undefined) return again.length > 0 ? again : undefined;
  }
  const rows = await (request.task === undefined
    ? claimLanes(session, parts, request, note)
    : (session.rows('claimTask', [request.holder, request.ttlMs, request.task, note]) as Promise<readonly ClaimRow[]>));
  if (rows[0]?.[0] !== true) return undefined; // disabled, or not known
  const granted = rows.flatMap(([, ...grant]) => (grant[0] === null ? [] : [grant]));
  const grants = await grantsOf(session, parts, inClaimOrder(granted, request));
  if (request.op !== undefined && grants.length > 0) {
    // Nothing found is no answer to keep: the caller may be waiting for the first task, and asks again under the same id.
    const answer = JSON.stringify(grants.map((grant) => [grant.task, grant.attempt]));
    await session.rows('opPut', [opKey(request), answer, OP_MS]);
  }
  return grants;
}

async function claimLanes(
  session: Session,
  { marks, world }: PostgresParts,
  { holder, ttlMs, max, lanes }: ClaimRequest,
  note: string,
): Promise<readonly ClaimRow[]> {
  const from = lanes.map(({ lane }) => marks.of(lane));
  const values = [
    holder,
    ttlMs,
    max,
    numbers(lanes.map(({ lane }) => lane)),
    numbers(lanes.map((one) => Math.min(one.max, max))),
    numbers(from.map(({ prio }) => prio)),
    numbers(from.map(({ id }) => id)),
    note,
  ];
  const began = world.clock.monotonic();
  const rows = (await session.rows('claim', values)) as readonly ClaimRow[];
  if (from.every(({ id }) => id === 0)) marks.took(world.clock.monotonic() - began);
  for (const [, id, , , , , lane, , prio] of rows) if (id !== null) marks.came(lane, { prio, id });
  return rows;
}

/** Lane by lane as they were asked for, and each in its own order: RETURNING promises none. */
function inClaimOrder(rows: readonly GrantRow[], { lanes }: ClaimRequest): readonly GrantRow[] {
  const place = new Map(lanes.map(({ lane }, i) => [lane, i]));
  const placeOf = (row: GrantRow): number => place.get(row[5]) ?? 0;
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b) || a[7] - b[7] || a[0] - b[0]);
}

async function grantsOf(
  session: Session,
  { lanes }: PostgresParts,
  rows: readonly GrantRow[],
): Promise<readonly Grant[]> {
  await lanes.need(
    session,
    rows.map((row) => row[5]),
  );
  const apart = rows.filter((row) => row[8] & PAYLOAD_APART).map(([id]) => id);
  const bodies =
    apart.length === 0
      ? new Map<number, string>()
      : new Map((await session.rows('bodies', [numbers(apart), 0])) as readonly (readonly [number, string])[]);
  return rows.map((row) => {
    const [task, attempt, tries, maxTries, bounces, lane, spec, prio, flags, createdAt, leaseUntil, payload] = row;
    const { queue = '', handler = '' } = lanes.known(lane) ?? {};
    return {
      task,
      attempt,
      queue,
      handler,
      lane,
      spec,
      priority: priorityOf(prio),
      tries,
      maxTries,
      bounces,
      createdAt,
      leaseUntil,
      payload: payload ?? bodies.get(task) ?? 'null',
      suspect: (flags & SUSPECT) !== 0,
    };
  });
}

/** In the order in which they were granted. */
async function held(
  session: Session,
  parts: PostgresParts,
  pairs: readonly (readonly [number, number])[],
): Promise<readonly Grant[]> {
  const values = [numbers(pairs.map(([task]) => task)), numbers(pairs.map(([, attempt]) => attempt))];
  const rows = (await session.rows('claimAgain', values)) as unknown as readonly GrantRow[];
  const place = new Map(pairs.map(([task], i) => [task, i]));
  const placeOf = ([task]: GrantRow): number => place.get(task) ?? 0;
  return grantsOf(
    session,
    parts,
    rows.toSorted((a, b) => placeOf(a) - placeOf(b)),
  );
}

/** The grants of a claim whose answer was lost on the way. */
async function lostGrants(session: Session, parts: PostgresParts, note: string): Promise<readonly Grant[]> {
  const rows = await session.all<{ ids: readonly number[]; attempts: readonly number[] }>('claimed', [note]);
  const pairs = rows.flatMap(({ ids, attempts }) =>
    ids.map((id, i): readonly [number, number] => [id, (attempts[i] ?? attempts[0]) as number]),
  );
  return pairs.length === 0 ? [] : held(session, parts, pairs);
}

/** The grants that this operation id had before, as far as they still hold. */
async function earlierGrants(
  session: Session,
  parts: PostgresParts,
  request: ClaimRequest,
): Promise<readonly Grant[] | undefined> {
  const [row] = await session.all<{ answer: string }>('opFind', [`{"${opKey(request).replace(/[\\"]/g, '\\$&')}"}`]);
  if (row === undefined) return undefined;
  return held(session, parts, JSON.parse(row.answer) as [number, number][]);
}
