import { STATEMENTS, type StatementName, type StatementTexts } from '../../src/store/sqlite/statements.ts';

export interface Defect {
  readonly what: string;
  readonly statements: Partial<StatementTexts>;
}

/** A change of one statement; it must really change it, or the defect would be none. */
type Edit = readonly [statement: StatementName, before: string, after: string];

function change(changes: readonly Edit[]): Partial<StatementTexts> {
  const texts: Partial<Record<StatementName, string>> = {};
  for (const [name, before, after] of changes) {
    const old = texts[name] ?? STATEMENTS[name];
    const text = old.replace(before, after);
    if (text === old) throw new Error(`${name} does not say ${JSON.stringify(before)} any more`);
    texts[name] = text;
  }
  return texts;
}

/** Parameters must stay, so a dropped test becomes one that always holds. */
const ANY = 'AND ? IS NOT NULL';

export const plant = (what: string, ...changes: readonly Edit[]): Defect => ({
  what,
  statements: change(changes),
});

/** What somebody might break one day of pushing, leases, results, duties and history. */
export const LEASE_DEFECTS = {
  'settle-unfenced': plant(
    'a result is taken from any attempt',
    ['settleFast', 'AND attempt = ?', ANY],
    ['settleSlow', 'AND attempt = ?', ANY],
    ['settleHeld', 'AND attempt = ?', ANY],
    ['settleMany', 'AND attempt = ?', ANY],
  ),
  'settle-finished': plant(
    'a result is taken when nothing runs',
    ['settleFast', 'AND state = 1', ''],
    ['settleSlow', 'AND state = 1', ''],
    ['settleHeld', 'AND state + 0 = 1', ''],
    ['settleMany', 'AND state + 0 = 1', ''],
  ),
  'return-unfenced': plant(
    'any attempt can give the task back',
    ['returnLook', 'AND attempt = ?', ANY],
    ['returnTask', 'AND attempt = ?', ANY],
  ),
  'renew-unfenced': plant('any attempt can renew', ['renew', 'AND attempt = ?', ANY]),
  'renew-after-reap': plant('a lease can be renewed after the reap', ['renew', 'AND state = 1', '']),
  'log-unfenced': plant('a line is taken from any attempt', ['logFence', 'AND attempt = ?', ANY]),
  'log-after-the-end': plant('a line is taken when nothing runs', ['logFence', 'AND state = 1', '']),
  'reap-renewed': plant(
    'the reaper takes what was renewed meanwhile',
    ['reapLook', 'AND lease_until < ?', ANY],
    ['reapAgain', 'AND lease_until < ?', ANY],
    ['reapEnd', 'AND lease_until < ?', ANY],
  ),
  'reap-unfenced': plant(
    'the reaper takes a newer attempt than it saw',
    [
      'reapLook',
      'AND attempt = ? AND state = 1 AND lease_until < ?',
      'AND ? IS NOT NULL AND state = 1 AND ? IS NOT NULL',
    ],
    [
      'reapAgain',
      'AND attempt = ? AND state = 1 AND lease_until < ?',
      'AND ? IS NOT NULL AND state = 1 AND ? IS NOT NULL',
    ],
  ),
  'try-counted-late': plant(
    'a try is counted when it fails, not when it begins',
    ['claimRun', 'tries = tries + 1', 'tries = tries'],
    ['claimList', 'tries = tries + 1', 'tries = tries'],
    ['claimOne', 'tries = tries + 1', 'tries = tries'],
    ['returnTask', 'tries = tries - ?', 'tries = tries + 1 - ?'],
  ),
  'attempt-not-counted': plant(
    'a claim does not move the fence',
    ['claimRun', 'attempt = attempt + 1', 'attempt = attempt'],
    ['claimList', 'attempt = attempt + 1', 'attempt = attempt'],
    ['claimOne', 'attempt = attempt + 1', 'attempt = attempt'],
  ),
  'release-forgotten': plant('giving back does not give the try back', [
    'returnTask',
    'tries = tries - ?',
    'tries = tries - 0 * ?',
  ]),
  'lease-left-behind': plant('giving back leaves the lease', [
    'returnTask',
    'holder = NULL, lease_until = NULL',
    'holder = holder',
  ]),
  'unique-skipped': plant('a unique key is not looked up', ['uniqFind', 'AND key = ?', 'AND key = ? AND 0']),
  'operation-forgotten': plant('an operation id is not looked up', ['opFind', 'AND until > ?', 'AND until > ? AND 0']),
  'event-gap': plant('event numbers leave a gap', ['eventAdd', 'seq + n FROM', 'seq + n + 1 FROM']),
  'epoch-forgotten': plant('a deposed holder may still write', ['dutyHeld', 'AND epoch = ?', ANY]),
  'duty-stolen': plant('a duty can be taken while it is held', ['dutyTake', 'duty.until < ?', '? IS NOT NULL']),
  'duty-renewed-late': plant(
    'a duty can be renewed after it was lost',
    ['dutyRenew', 'AND duty.epoch = j.value ->> 1', ''],
    ['dutyRenew', 'duty.name, duty.epoch', 'duty.name, (SELECT r.value ->> 1 FROM json_each(?1) r) AS epoch'],
  ),
  'staged-early': plant(
    'a task becomes ready before it is due',
    ['stageNext', 'SELECT run_at FROM', 'SELECT run_at - 500 AS run_at FROM'],
    ['stageLook', 'run_at <= ?', 'run_at <= ? + 500'],
  ),
  'timed-out-early': plant(
    'a task times out before its time',
    ['expireNext', 'SELECT expires_at FROM', 'SELECT expires_at - 500 AS expires_at FROM'],
    ['expireLook', 'expires_at <= ?', 'expires_at <= ? + 500'],
  ),
  'timed-out-late': plant(
    'a task times out although it was started before',
    ['expireNext', 'AND attempt = 0', ''],
    ['expireLook', 'AND attempt = 0', ''],
    ['expireOne', 'AND attempt = 0', ''],
  ),
  'number-claims-anything': plant(
    'a task that is claimed by its number need not be ready',
    ['claimTask', 'AND t.state = 0', ''],
    ['claimOne', 'AND state = 0', ''],
  ),
  'suspicion-forgotten': plant('a lost lease leaves no suspicion', ['reapAgain', ', flags = (flags | 16) & ~1024', '']),
  'cancel-forgotten': plant(
    'giving back forgets the cancel request',
    ['returnLook', 'cancel_at FROM', 'NULL AS cancel_at FROM'],
    ['returnTask', 'AND cancel_at IS NULL', ''],
  ),
  'cancel-lost-to-reap': plant('the reaper forgets a cancel request that came after its look', [
    'reapLook',
    'cancel_at, flags FROM',
    'NULL AS cancel_at, flags FROM',
  ]),
  'revive-restarts-attempts': plant('a revived task starts its attempts over', [
    'revive',
    'tries = 0',
    'tries = 0, attempt = 0',
  ]),
  'slot-fires-twice': plant(
    'a cron slot can fire twice',
    ['triggerMove', 'AND next_at = ?', ANY],
    ['uniqFind', 'AND key = ?', "AND key = ? AND key NOT LIKE 'cron:%'"],
  ),
  'counter-drifts': plant('a counter misses its changes', [
    'statAdd',
    'running = running + excluded.running',
    'running = running',
  ]),
  'pruned-early': plant(
    'unfinished history is pruned too early',
    ['pruneTask', 'AND ended_at < ?', ANY],
    ['pruneWalk', 'id, ended_at', 'id, 0 AS ended_at'],
  ),
  'disabled-served': plant('a disabled worker may claim', ['workerEnabled', 'SELECT enabled,', 'SELECT 1 AS enabled,']),
  // What the simulator itself found while this was built, put back.
  'key-pruned-early': plant('the pruner takes the key of a finished task, which a revival then no longer holds', [
    'pruneOps',
    STATEMENTS.pruneOps,
    'DELETE FROM uniq WHERE until < ? AND ? > 0',
  ]),
  'trigger-moved-back': plant(
    'putting a trigger again moves it back to slots that have fired',
    ['triggerPut', /next_at = CASE[\s\S]*END/.exec(STATEMENTS.triggerPut)?.[0] ?? '', 'next_at = excluded.next_at'],
    ['uniqFind', 'AND key = ?', "AND key = ? AND key NOT LIKE 'cron:%'"],
  ),
  'operation-half-kept': plant('an operation id is kept only when its answer is a new task', [
    'opPut',
    'VALUES (?, ?, ?)',
    "SELECT ?1, ?2, ?3 WHERE ?1 LIKE 'claim:%' OR json_extract(?2, '$[1]') = ?3 - 86400000",
  ]),
} as const satisfies Record<string, Defect>;

/** And of limits, waits, dependencies, checkpoints and the settings of workers. */
const SCHEDULING_DEFECTS = {
  'limit-not-given-back': plant('a task keeps its slot of a limit when it ends', [
    'slotGive',
    'active - ?',
    'active - 0 * ?',
  ]),
  'limit-not-taken': plant('a claim takes nothing from its limit', [
    'slotTake',
    'active = ?',
    'active = active + 0 * ?',
  ]),
  'limit-changed-late': plant('a changed limit leaves its counters alone', [
    'limitCaps',
    'WHERE def = ?',
    'WHERE def = 0 * ?',
  ]),
  'early-signal-ignored': plant('a signal that came first is ignored by whoever parks', [
    'signalTake',
    'WHERE channel = ?',
    'WHERE channel = ? AND 0',
  ]),
  'early-signal-stays': plant('a signal that came first is given to everybody who parks', [
    'signalTake',
    STATEMENTS.signalTake,
    'SELECT body FROM signal WHERE channel = ? ORDER BY id LIMIT 1',
  ]),
  'signal-sent-again': plant('a signal that is sent again under its operation id is delivered again', [
    'opFind',
    'AND until > ?',
    "AND until > ? AND id NOT LIKE 'signal:%'",
  ]),
  'signal-wakes-anything': plant('a signal wakes what waits no more', ['wake', 'AND state = 3', '']),
  'signal-lost-on-the-way': plant('a signal is taken for a task that it does not wake', [
    'wake',
    'AND state = 3',
    'AND 0',
  ]),
  'taken-forgotten': plant('a park whose answer was lost takes a second signal', [
    'waitTaken',
    'AND state = 1',
    'AND 0',
  ]),
  'revival-drops-signal': plant('a revived task loses the signal that had woken it', [
    'waitDropOpen',
    'AND state = 0',
    '',
  ]),
  'deadline-forgotten': plant('nobody looks at the deadlines of waits', [
    'stageLook',
    'state IN (2, 3) AND run_at',
    'state IN (2) AND run_at',
  ]),
  'deadline-untold': plant('a wait that ran into its deadline is told as woken', [
    'waitTimeOut',
    'SET state = 2',
    'SET state = 1',
  ]),
  'parked-slot-kept': plant('a task that parks keeps its slot of a limit', [
    'slotGive',
    'active - ?',
    `active - ? * NOT EXISTS (SELECT 1 FROM lane_slot ls JOIN task t ON t.lane = ls.lane
      WHERE ls.slot = slot.id AND t.state = 3 AND t.attempt > 0)`,
  ]),
  'parked-try-kept': plant('a park costs a try', ['parkTask', 'tries = tries - 1', 'tries = tries']),
  'child-unwatched': plant('a child does not know that its parent waits', ['parkWatch', 'flags | 1', 'flags']),
  'stale-child-counted': plant('a child that was waited for before counts for another wait', [
    'depOpen',
    'd.gen, ',
    't.attempt AS gen, ',
  ]),
  'countdown-lost': plant('the end of a parent is not counted when there are others', [
    'downCount',
    'open = open - 1',
    'open = open',
  ]),
  'last-parent-lost': plant('the end of the last parent wakes nobody', [
    'downWake',
    'AND state = 3',
    'AND state = 3 AND 0',
  ]),
  'optional-forgotten': plant('an optional parent is needed', ['depAdd', '0, ?, ?, 1)', '0, 0 * ?, ?, 1)']),
  'revived-unplanned': plant('a revived task forgets what it waits for', [
    'depReopen',
    'AND planned = 1',
    'AND planned = 2',
  ]),
  'setting-unfenced': plant('a change of settings leaves the revision of a worker as it was', [
    'workerChange',
    'revision = revision + 1',
    'revision = revision',
  ]),
  'setting-untold': plant('a change of settings is not told to those that live', [
    'workerChange',
    'WHERE id = ?',
    'WHERE id = 0 * ?',
  ]),
  'draining-served': plant('a draining worker may claim', ['workerEnabled', ' state,', ' 1 AS state,']),
  'held-uncounted': plant('nobody counts how many tasks of a kind a worker has', [
    'heldLike',
    'count(*)',
    '0 * count(*)',
  ]),
  // What the simulator itself found while this was built, put back.
  'late-park-obeyed': plant('a park that comes again after a later one of its attempt is obeyed', [
    'waitLater',
    'AND turn > ?',
    'AND turn > ? AND 0',
  ]),
  'lost-worker-untold': plant('a worker that counts as lost is not told of settings', [
    'workersNamed',
    'state <> 3',
    'state IN (0, 1, 2)',
  ]),
} as const satisfies Record<string, Defect>;

/** And of turns, journals and trees. */
const TURN_DEFECTS = {
  'turn-unfenced': plant('a turn is taken from any attempt', ['turnLook', 'AND attempt = ?', ANY]),
  'turn-after-the-end': plant('a turn is taken when nothing runs', ['turnLook', 'AND state = 1', '']),
  'value-replaced': plant('the last value that is remembered stays', [
    'journalAdd',
    'INSERT OR IGNORE',
    'INSERT OR REPLACE',
  ]),
  'entry-forgotten': plant('the entry of a child is not written', [
    'journalAdd',
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    'SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE ?3 <> 4',
  ]),
  'signal-unwritten': plant('the entry of a signal is not written, so that it is sent again', [
    'journalAdd',
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    'SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE ?3 <> 5',
  ]),
  'entry-overlooked': plant('a child is born although its entry is there', [
    'journalGet',
    'AND key = ?',
    'AND key = ? AND kind <> 4',
  ]),
  'signal-overlooked': plant('a signal is sent although its entry is there', [
    'journalGet',
    'AND key = ?',
    'AND key = ? AND kind <> 5',
  ]),
  'entry-without-signal': plant('the entry of a signal is written, and the signal is not kept', [
    'signalAdd',
    'VALUES (?, ?, ?)',
    "SELECT ?1, ?2, ?3 WHERE ?2 NOT LIKE '%turn/%'",
  ]),
  'grandchild-misplaced': plant('the root of a grandchild is its parent', [
    'turnLook',
    'cancel_at, root FROM',
    'cancel_at, NULL AS root FROM',
  ]),
  'born-after-cancel': plant('a task that was asked to stop goes on to bear, signal and wait', [
    'turnLook',
    'cancel_at, root FROM',
    'NULL AS cancel_at, root FROM',
  ]),
  'edge-of-child-forgotten': plant('a child does not wait for its siblings', [
    'depTask',
    'VALUES (?, ?, ?, ?,',
    'VALUES (?, ?, ?, 0 * ?,',
  ]),
  'living-tree-pruned': plant('a member of a tree goes by its own age', [
    'treeOpen',
    '(state < 4 OR ended_at >= ?)',
    '(state < 0 AND ended_at >= ?)',
  ]),
  'needed-row-pruned': plant(
    'what an unfinished task has waited for is pruned',
    ['pruneNeeded', 'WHERE d.up = ?', 'WHERE d.up = ? AND 0'],
    ['treeNeeded', 't.state < 4', 't.state < 0'],
  ),
  'signal-pruned-early': plant('a signal is pruned while a task is unfinished that was there for it', [
    'oldestUnfinished',
    'SELECT created_at FROM',
    'SELECT created_at + 1000000000 AS created_at FROM',
  ]),
  'removed-tree-revived': plant('what is left of a tree that is being removed comes back', [
    'treeGoing',
    'AND flags & 512 <> 0',
    'AND 0',
  ]),
  'member-unlisted': plant('a tree is listed without those that wait', [
    'treeList',
    'AND t.id > ?',
    'AND t.id > ? AND t.state <> 3',
  ]),
} as const satisfies Record<string, Defect>;

/** The simulator must notice each. */
export const DEFECTS = { ...LEASE_DEFECTS, ...SCHEDULING_DEFECTS, ...TURN_DEFECTS };

export type DefectName = keyof typeof DEFECTS;
