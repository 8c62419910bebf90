import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import type { World } from '../../../core/world.ts';
import type { Capabilities, Store } from '../../store.ts';
import { AUDIT } from '../admin/audit.ts';
import { AUDIT_TRAIL } from '../admin/audit-trail.ts';
import { BROWSER_SESSIONS } from '../admin/browser-sessions.ts';
import { CLOSING } from '../admin/closing.ts';
import { CREDENTIALS } from '../admin/credentials.ts';
import { DUTIES } from '../admin/duties.ts';
import { EDITS } from '../admin/edits.ts';
import { EVENTS } from '../admin/events.ts';
import { HANDLER_SCHEMAS } from '../admin/handler-schemas.ts';
import { INSIGHT } from '../admin/insight.ts';
import { LOGS } from '../admin/logs.ts';
import { NODES } from '../admin/nodes.ts';
import { POOLS } from '../admin/pools.ts';
import { PRUNE } from '../admin/prune.ts';
import { REACTIONS } from '../admin/reactions.ts';
import { SAVED_VIEWS } from '../admin/saved-views.ts';
import { TAGS } from '../admin/tags.ts';
import { TOKEN_EXCHANGE } from '../admin/token-exchange.ts';
import { TOKENS } from '../admin/tokens.ts';
import { TRIGGERS } from '../admin/triggers.ts';
import { WORKERS } from '../admin/workers.ts';
import { WORKFLOWS } from '../admin/workflows.ts';
import { LANES } from '../limits/lanes.ts';
import { LIMITS } from '../limits/limits.ts';
import { PLACING } from '../limits/placing.ts';
import { SHARING } from '../limits/sharing.ts';
import { BODIES } from '../tasks/bodies.ts';
import { CALLER_TRANSACTION } from '../tasks/caller-transaction.ts';
import { CANCEL } from '../tasks/cancel.ts';
import { CLAIM } from '../tasks/claim.ts';
import { CLAIM_TASK } from '../tasks/claim-task.ts';
import { CLOCK_STEPS } from '../tasks/clock-steps.ts';
import { EXPIRE } from '../tasks/expire.ts';
import { FENCES } from '../tasks/fences.ts';
import { OP } from '../tasks/op.ts';
import { PUSH } from '../tasks/push.ts';
import { QUEUES } from '../tasks/queues.ts';
import { REAP } from '../tasks/reap.ts';
import { RENEW } from '../tasks/renew.ts';
import { RETURN } from '../tasks/return.ts';
import { REVIVE } from '../tasks/revive.ts';
import { SETTLE } from '../tasks/settle.ts';
import { STAGE } from '../tasks/stage.ts';
import { SUSPECTS } from '../tasks/suspects.ts';
import { TRANSITIONS_TABLE } from '../tasks/transitions.ts';
import { UNIQUE } from '../tasks/unique.ts';
import { ARTIFACT_SWEEPS } from '../trees/artifact-sweeps.ts';
import { ARTIFACTS } from '../trees/artifacts.ts';
import { BUDGETS } from '../trees/budgets.ts';
import { CIRCLES } from '../trees/circles.ts';
import { DOCUMENTS } from '../trees/documents.ts';
import { GRAPH_ENDS } from '../trees/graph-ends.ts';
import { GRAPHS } from '../trees/graphs.ts';
import { JOURNALS } from '../trees/journals.ts';
import { PARKS } from '../trees/parks.ts';
import { RESULTS } from '../trees/results.ts';
import { RUNS } from '../trees/runs.ts';
import { SEVERAL_CHANNELS } from '../trees/several-channels.ts';
import { SIGNALS } from '../trees/signals.ts';
import { TREES } from '../trees/trees.ts';
import { TURN_BIRTHS } from '../trees/turn-births.ts';
import { TURNS } from '../trees/turns.ts';
import { type CallerHandle, Scene } from './scene.ts';
import type { Case, Need, Topic } from './topic.ts';
import { VirtualWorld } from './virtual-world.ts';

export interface StoreContractOptions {
  /** What the report calls the store. */
  readonly name: string;
  /** Opens a new, empty store whose clocks and timers are those of the world. */
  readonly open: (setting: { readonly world: World }) => Promise<Store>;
  /** Opens the data of that store once more, as another process of the same host would. */
  readonly reopen?: (store: Store, setting: { readonly world: World }) => Promise<Store>;
  /** A handle whose transactions `taskPushIn` can take part in. */
  readonly caller?: (store: Store) => Promise<CallerHandle>;
  /** For a store with a clock of its own, which must move together with the world's. */
  readonly pass?: (ms: number, store: Store, setting: { readonly world: VirtualWorld }) => Promise<void>;
  /** And sets its clock back. That of the world was set already. */
  readonly setBack?: (ms: number, store: Store) => Promise<void>;
  /** Cases that this store cannot pass, by their sentence, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
  /** Only these topics; default all. */
  readonly topics?: readonly string[];
}

export const TOPICS: readonly Topic[] = [
  LANES,
  PUSH,
  UNIQUE,
  OP,
  CLAIM,
  CLAIM_TASK,
  SETTLE,
  RETURN,
  RENEW,
  REAP,
  SUSPECTS,
  STAGE,
  CLOCK_STEPS,
  EXPIRE,
  CANCEL,
  REVIVE,
  TRANSITIONS_TABLE,
  FENCES,
  LOGS,
  DUTIES,
  EVENTS,
  QUEUES,
  WORKERS,
  PRUNE,
  AUDIT,
  TRIGGERS,
  REACTIONS,
  WORKFLOWS,
  POOLS,
  PLACING,
  LIMITS,
  EDITS,
  GRAPHS,
  GRAPH_ENDS,
  PARKS,
  SEVERAL_CHANNELS,
  CIRCLES,
  SIGNALS,
  JOURNALS,
  TURNS,
  TURN_BIRTHS,
  TREES,
  RUNS,
  BUDGETS,
  RESULTS,
  ARTIFACTS,
  ARTIFACT_SWEEPS,
  TOKENS,
  TOKEN_EXCHANGE,
  BROWSER_SESSIONS,
  AUDIT_TRAIL,
  CREDENTIALS,
  TAGS,
  NODES,
  DOCUMENTS,
  INSIGHT,
  SAVED_VIEWS,
  HANDLER_SCHEMAS,
  BODIES,
  CALLER_TRANSACTION,
  SHARING,
  CLOSING,
];

/** A case that hangs fails after this time. */
const TIMEOUT_MS = 20_000;

/**
 * Registers the whole contract with `node:test`: one suite per topic, one test per guarantee. Each test has a new store in
 * a world of its own, and after each one the books are checked: the feed, the counters and every record.
 */
export function storeContract(options: StoreContractOptions): void {
  checkOptions(options);
  describe(`store contract: ${options.name}`, () => {
    for (const { name: topic, cases, needs: all = [] } of TOPICS) {
      if (options.topics !== undefined && !options.topics.includes(topic)) continue;
      describe(topic, () => {
        for (const [sentence, given] of Object.entries(cases)) {
          const { needs, run } = typeof given === 'function' ? { needs: [], run: given } : given;
          test(sentence, { skip: options.skip?.[sentence] ?? false, timeout: TIMEOUT_MS }, async (t) => {
            const missing = await play(options, sentence, { needs: [...all, ...needs], run });
            if (missing !== undefined) t.skip(missing);
          });
        }
      });
    }
  });
}

/** Runs one case; says what is missing when the store is not made for it. */
async function play(
  options: StoreContractOptions,
  sentence: string,
  { needs, run }: Case,
): Promise<string | undefined> {
  const lacks = capabilitiesOf.get(options);
  const known = lacks && missing(needs, options, lacks);
  if (known !== undefined) return known;
  const world = new VirtualWorld({ seed: seedOf(sentence) });
  const store = await options.open({ world });
  capabilitiesOf.set(options, store.capabilities);
  const { reopen, caller, pass, setBack } = options;
  const scene = new Scene(store, world, {
    reopen: reopen && ((opened) => reopen(opened, { world })),
    caller,
    setBack: setBack && ((ms) => setBack(ms, store)),
    pass: pass === undefined ? (ms) => world.advance(ms) : (ms) => pass(ms, store, { world }),
  });
  try {
    const lacking = missing(needs, options, store.capabilities);
    if (lacking !== undefined) return lacking;
    await run(scene);
    if (!scene.closed) await scene.checkBooks();
    return undefined;
  } catch (error) {
    // A store for plain queues refuses with UNSUPPORTED where a case needs more.
    if (store.capabilities.whole || !isEngineError(error, 'UNSUPPORTED')) throw error;
    return `it needs more than a plain queue: ${error.message}`;
  } finally {
    await scene.close();
  }
}

/**
 * Capabilities of stores that were opened before: all stores of one suite have the same, and need not be opened to know
 * them.
 */
const capabilitiesOf = new WeakMap<StoreContractOptions, Capabilities>();

function missing(needs: readonly Need[], options: StoreContractOptions, has: Capabilities): string | undefined {
  const need = needs.find((one) => !(one === 'reopen' || one === 'caller' ? options[one] !== undefined : has[one]));
  return need && `it needs "${need}", which ${options.name} does not have`;
}

/** A skip that names no case, or has no reason, would hide a gap. */
function checkOptions({ skip = {}, topics = [] }: StoreContractOptions): void {
  const known = new Set(TOPICS.flatMap(({ cases }) => Object.keys(cases)));
  for (const [sentence, reason] of Object.entries(skip)) {
    assert.ok(known.has(sentence), `the contract has no case "${sentence}" to skip`);
    assert.ok(reason.trim() !== '', `the skip of "${sentence}" has no reason`);
  }
  for (const topic of topics) {
    assert.ok(
      TOPICS.some(({ name }) => name === topic),
      `the contract has no topic "${topic}"`,
    );
  }
}

function seedOf(sentence: string): number {
  let seed = 0;
  for (let i = 0; i < sentence.length; i++) seed = (Math.imul(seed, 31) + sentence.charCodeAt(i)) | 0;
  return seed;
}
