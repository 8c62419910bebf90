import { STRATEGIES } from '../core/limits/limit.ts';
import { NODE_ROLES } from '../core/node.ts';
import { DEFAULT_HEARTBEAT_MS, DEFAULT_STALE_MS, MIN_HEARTBEAT_MS } from '../core/placement/worker.ts';
import { MAX_TRIES_BOUND, PRIORITY_MAX, PRIORITY_MIN, STATES } from '../core/task/task.ts';
import {
  atLeast,
  commaList,
  duration,
  filled,
  handlerName,
  hostName,
  keyText,
  limitUse,
  networkPlace,
  oneOf,
  onOrOff,
  orNone,
  type Parse,
  portNumber,
  publicUrl,
  queueName,
  rate,
  secondsAtLeast,
  someOf,
  tagName,
  tagTest,
  wholeNumber,
  workerId,
  workerName,
} from './parse.ts';

export interface Option<T = unknown> {
  /** One sentence without a full stop, for the help and the reference page. */
  readonly doc: string;
  /** The flag, where it is not the key: two commands may mean different things by one word. No command takes both. */
  readonly flag?: string;
  /** What stands for the value in the help; absent for a switch, which takes none. */
  readonly value?: string;
  /** One letter, for what is typed often: `-f`. */
  readonly short?: string;
  /** May be given several times; each time adds to the list. */
  readonly many?: true;
  /** A switch that is on, so that its flag is the one that turns it off: `--no-worker`. */
  readonly negatable?: true;
  /** A switch that changes what is kept, and so may be said both ways: `--rate-per-key`, `--no-rate-per-key`. */
  readonly either?: true;
  /** A number that may be below zero, so that `-5` is its value and not a forgotten one. */
  readonly signed?: true;
  readonly parse: Parse<T>;
  /** Environment variables, the best name first. What belongs to one call has none. */
  readonly env: readonly string[];
  /** Reads what a variable says, where that differs from the flag. */
  readonly parseEnv?: Parse<T>;
  /** What somebody else puts under one of these names and does not mean for us: it counts as absent. */
  readonly foreignEnv?: RegExp;
  /** Worked out from the options before it, so that an option may follow another one. */
  readonly fallback: (sofar: { readonly dataDir: string }) => T;
  /** The default in words, where the value itself would not do. */
  readonly fallbackDoc?: string;
}

const MIN_LEASE_MS = 100;
const MIN_STALE_MS = 1000;
const MIN_INTERVAL_MS = 10;
/** Faster than anybody reads; whoever looks has several calls answered each time. */
const MIN_LOOK_MS = 100;
const MAX_BOUND = 1_000_000_000;
/** What is not said on the command line, and so stays as it is. */
const UNSAID = { fallback: () => undefined, fallbackDoc: 'as it is' } as const;

/**
 * Every setting, once. The parser, the help, the type `Config` and `docs/reference/config.md` all follow this table; the
 * flag is the key in kebab-case.
 */
export const OPTIONS = Object.freeze({
  dataDir: {
    doc: 'Folder for the store and whatever else this node keeps',
    value: 'DIR',
    parse: filled,
    env: ['LEASEHOLD_DATA_DIR'],
    fallback: () => '.leasehold',
  },
  store: {
    doc: 'Where tasks are kept: sqlite:PATH, postgres://USER@HOST/DATABASE, or memory: for a store that ends with the process',
    value: 'URL',
    parse: filled,
    env: ['LEASEHOLD_STORE', 'APFLOW_DATABASE_URL'],
    fallback: ({ dataDir }) => `sqlite:${dataDir}/leasehold.db`,
    fallbackDoc: 'sqlite:DIR/leasehold.db',
  },
  host: {
    doc: 'Address to listen on; beyond this machine only with TLS, or behind a proxy that does it',
    value: 'HOST',
    parse: filled,
    env: ['LEASEHOLD_HOST'],
    fallback: () => '127.0.0.1',
  },
  port: {
    doc: 'Port to listen on; 0 picks a free one',
    value: 'PORT',
    parse: portNumber,
    env: ['LEASEHOLD_PORT'],
    // In every pod beside a Kubernetes Service that is named leasehold this variable is tcp://ADDRESS:PORT of that service.
    foreignEnv: /^tcp:\/\//,
    fallback: () => 7420,
  },
  server: {
    doc: 'Ask the node at this address, or at the next of several with commas between them, instead of working on a store',
    value: 'URL',
    parse: filled,
    env: ['LEASEHOLD_SERVER'],
    fallback: () => undefined,
    fallbackDoc: 'the node that runs in DIR, if one does',
  },
  token: {
    doc: 'The admin token of this node; for other commands the token that the node is shown',
    value: 'TOKEN',
    parse: filled,
    env: ['LEASEHOLD_TOKEN'],
    fallback: () => undefined,
    fallbackDoc: 'the one in DIR/token, made on the first start',
  },
  publicHost: {
    doc: 'Another name that the server is asked for by, such as that of a proxy; may be repeated',
    value: 'NAME',
    many: true,
    parse: hostName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  tlsCert: {
    doc: 'File with the certificate of the server, in PEM',
    value: 'FILE',
    parse: filled,
    env: ['LEASEHOLD_TLS_CERT'],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  tlsKey: {
    doc: 'File with the key of that certificate, in PEM',
    value: 'FILE',
    parse: filled,
    env: ['LEASEHOLD_TLS_KEY'],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  insecureBehindProxy: {
    doc: 'Listen beyond this machine without TLS: a proxy in front of it does that',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  otlpEndpoint: {
    doc: 'Collector that traces are sent to, by OTLP over HTTP, such as http://127.0.0.1:4318',
    value: 'URL',
    parse: filled,
    env: ['LEASEHOLD_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    fallback: () => undefined,
    fallbackDoc: 'none: no traces are made',
  },
  serviceName: {
    doc: 'Name of this process in traces',
    value: 'NAME',
    parse: filled,
    env: ['LEASEHOLD_SERVICE_NAME', 'OTEL_SERVICE_NAME'],
    fallback: () => 'leasehold',
  },
  publicUrl: {
    doc: 'Where others reach this node, such as https://tasks.example.org: what it tells them to call, whatever they have called',
    value: 'URL',
    parse: publicUrl,
    env: ['LEASEHOLD_PUBLIC_URL'],
    fallback: () => undefined,
    fallbackDoc: 'the address it listens on',
  },
  maxConnections: {
    doc: 'Connections that one address may have at a time; 0 sets no bound',
    value: 'N',
    parse: wholeNumber(0, MAX_BOUND),
    env: ['LEASEHOLD_MAX_CONNECTIONS'],
    fallback: () => undefined,
    fallbackDoc: '1000; on loopback and behind a proxy no bound',
  },
  maxStreams: {
    doc: 'Streams that one token may have open at a time; 0 sets no bound',
    value: 'N',
    parse: wholeNumber(0, MAX_BOUND),
    env: ['LEASEHOLD_MAX_STREAMS'],
    fallback: () => 1000,
  },
  pushRate: {
    doc: 'Tasks a second that one token may push over the network, after a burst of ten times as many; 0 sets no bound',
    value: 'N',
    parse: wholeNumber(0, MAX_BOUND),
    env: ['LEASEHOLD_PUSH_RATE'],
    fallback: () => 10_000,
  },
  maxQueued: {
    doc: 'Unfinished tasks of one queue beyond which pushes over the network are refused; 0 sets no bound',
    value: 'N',
    parse: wholeNumber(0, MAX_BOUND),
    env: ['LEASEHOLD_MAX_QUEUED'],
    fallback: () => 1_000_000,
  },
  maxQueuedInAll: {
    doc: 'The same for all queues together',
    value: 'N',
    parse: wholeNumber(0, MAX_BOUND),
    env: ['LEASEHOLD_MAX_QUEUED_IN_ALL'],
    fallback: () => 10_000_000,
  },
  durability: {
    doc: 'What an acknowledged write survives: full, the loss of power; normal, kill -9',
    value: 'full|normal',
    parse: oneOf('full', 'normal'),
    env: ['LEASEHOLD_DURABILITY'],
    fallback: () => 'full' as const,
  },
  leaseDuration: {
    doc: 'How long a claim holds without being renewed',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_LEASE_DURATION_SECONDS', 'APFLOW_LEASE_DURATION_SECONDS', 'APFLOW_LEASE_DURATION'],
    parseEnv: secondsAtLeast(MIN_LEASE_MS),
    fallback: () => 30_000,
    fallbackDoc: '30s',
  },
  heartbeatInterval: {
    doc: 'How often workers say that they live; at most a third of a lease',
    value: 'TIME',
    parse: atLeast(MIN_HEARTBEAT_MS),
    env: ['LEASEHOLD_HEARTBEAT_INTERVAL_SECONDS', 'APFLOW_HEARTBEAT_INTERVAL_SECONDS', 'APFLOW_HEARTBEAT_INTERVAL'],
    parseEnv: secondsAtLeast(MIN_HEARTBEAT_MS),
    fallback: () => DEFAULT_HEARTBEAT_MS,
    fallbackDoc: '10s',
  },
  staleThreshold: {
    doc: 'A worker that has not said so for this long is lost, and a node is stale',
    value: 'TIME',
    parse: atLeast(MIN_STALE_MS),
    env: [
      'LEASEHOLD_NODE_STALE_THRESHOLD_SECONDS',
      'APFLOW_NODE_STALE_THRESHOLD_SECONDS',
      'APFLOW_NODE_STALE_THRESHOLD',
    ],
    parseEnv: secondsAtLeast(MIN_STALE_MS),
    fallback: () => DEFAULT_STALE_MS,
    fallbackDoc: '30s',
  },
  offlineAfter: {
    doc: 'An agent of document 004 that has said nothing for this long is offline and cut off',
    value: 'TIME',
    parse: atLeast(MIN_STALE_MS),
    env: ['LEASEHOLD_OFFLINE_AFTER'],
    fallback: () => 60_000,
    fallbackDoc: '60s',
  },
  taskTimeout: {
    doc: 'How long a task may run where neither it nor its handler says so',
    value: 'TIME',
    parse: atLeast(1),
    env: ['LEASEHOLD_TASK_TIMEOUT'],
    fallback: () => undefined,
    fallbackDoc: 'no bound',
  },
  compat: {
    doc: 'Let agents of document 004 also come by /ws/agent/NAME/SECRET, an address that others on the way may log',
    value: '004',
    many: true,
    parse: commaList(oneOf('004')),
    env: ['LEASEHOLD_COMPAT'],
    fallback: (): readonly '004'[] => [],
    fallbackDoc: 'none',
  },
  retention: {
    doc: 'How long finished tasks, their events and their keys are kept',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_RETENTION'],
    fallback: () => 7 * 24 * 3_600_000,
    fallbackDoc: '7d',
  },
  role: {
    doc: 'What this node is in its cluster: auto leads if nobody does, leader leads or does not start, worker never leads, observer only answers questions',
    value: NODE_ROLES.join('|'),
    parse: oneOf(...NODE_ROLES),
    env: ['LEASEHOLD_NODE_ROLE', 'APFLOW_NODE_ROLE'],
    fallback: () => 'auto' as const,
  },
  cluster: {
    doc: 'Whether this node is one of a cluster; off, it is in no list and no election, and keeps house only while nobody leads',
    value: 'on|off',
    parse: onOrOff,
    env: ['LEASEHOLD_CLUSTER_ENABLED', 'APFLOW_CLUSTER_ENABLED'],
    fallback: () => true,
    fallbackDoc: 'on',
  },
  leaderLease: {
    doc: 'How long a node leads without renewing that; another one follows after it when the leader is lost',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_LEADER_LEASE_SECONDS', 'APFLOW_LEADER_LEASE_SECONDS', 'APFLOW_LEADER_LEASE'],
    parseEnv: secondsAtLeast(MIN_LEASE_MS),
    fallback: () => 30_000,
    fallbackDoc: '30s',
  },
  leaderRenew: {
    doc: 'After how long the leader renews its lease, which must be at least three times as long',
    value: 'TIME',
    parse: atLeast(MIN_INTERVAL_MS),
    env: ['LEASEHOLD_LEADER_RENEW_SECONDS', 'APFLOW_LEADER_RENEW_SECONDS', 'APFLOW_LEADER_RENEW'],
    parseEnv: secondsAtLeast(MIN_INTERVAL_MS),
    fallback: () => 10_000,
    fallbackDoc: '10s',
  },
  cleanupInterval: {
    doc: 'How often at least the leader looks for leases that ran out',
    value: 'TIME',
    parse: atLeast(MIN_INTERVAL_MS),
    env: [
      'LEASEHOLD_LEASE_CLEANUP_INTERVAL_SECONDS',
      'APFLOW_LEASE_CLEANUP_INTERVAL_SECONDS',
      'APFLOW_LEASE_CLEANUP_INTERVAL',
    ],
    parseEnv: secondsAtLeast(MIN_INTERVAL_MS),
    fallback: () => 1000,
    fallbackDoc: '1s',
  },
  pollInterval: {
    doc: 'How often at least work is looked for that no wake-up told of',
    value: 'TIME',
    parse: atLeast(MIN_INTERVAL_MS),
    env: ['LEASEHOLD_POLL_INTERVAL_SECONDS', 'APFLOW_POLL_INTERVAL_SECONDS', 'APFLOW_POLL_INTERVAL'],
    parseEnv: secondsAtLeast(MIN_INTERVAL_MS),
    fallback: () => 1000,
    fallbackDoc: '1s',
  },
  nodeDeadThreshold: {
    doc: 'A node that was not heard of for so long is dead',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_NODE_DEAD_THRESHOLD_SECONDS', 'APFLOW_NODE_DEAD_THRESHOLD_SECONDS', 'APFLOW_NODE_DEAD_THRESHOLD'],
    parseEnv: secondsAtLeast(MIN_LEASE_MS),
    fallback: () => 120_000,
    fallbackDoc: '2m',
  },
  // The worker, built in (`up`, `dev`) or alone (`worker`).
  worker: {
    doc: 'Serve without the built-in worker',
    negatable: true,
    parse: (): boolean => true,
    env: [],
    fallback: () => true,
    fallbackDoc: 'with one',
  },
  slots: {
    doc: 'How many tasks the worker runs at a time',
    value: 'N',
    parse: wholeNumber(1, 10_000),
    env: ['LEASEHOLD_MAX_PARALLEL_TASKS_PER_NODE', 'APFLOW_MAX_PARALLEL_TASKS_PER_NODE', 'APFLOW_MAX_PARALLEL_TASKS'],
    fallback: () => 4,
  },
  name: {
    doc: 'What the node, or the worker, is called',
    value: 'NAME',
    parse: workerName,
    env: ['LEASEHOLD_NODE_ID', 'APFLOW_NODE_ID'],
    fallback: () => undefined,
    fallbackDoc: 'HOST for a node, HOST-PID for a worker alone',
  },
  tag: {
    doc: 'What the worker offers, such as gpu or gpu=nvidia; may be repeated',
    value: 'TAG',
    many: true,
    parse: tagName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  workerPriority: {
    doc: 'Workers with a higher one are given work first; may be below zero',
    value: 'N',
    signed: true,
    parse: wholeNumber(-MAX_BOUND, MAX_BOUND),
    env: [],
    fallback: () => 0,
  },
  handlers: {
    doc: 'File with handlers of your own; may be repeated',
    value: 'FILE',
    many: true,
    parse: (text, name) => [filled(text, name)],
    env: [],
    fallback: () => [],
    fallbackDoc: 'the built-in ones',
  },
  allow: {
    doc: 'Which of the handlers that run code of the task the worker offers, wherever the node listens',
    value: 'shell,js|none',
    parse: someOf('shell', 'js'),
    env: ['LEASEHOLD_ALLOW'],
    fallback: () => undefined,
    fallbackDoc: 'both while the node listens on loopback, else none',
  },
  allowHttp: {
    doc: 'Private hosts or networks (10.0.0.0/8) that the http handler may reach all the same; a comma between two',
    value: 'PLACES',
    many: true,
    parse: commaList(networkPlace),
    env: ['LEASEHOLD_ALLOW_HTTP'],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  join: {
    doc: 'Work for the node at this address, instead of directly on a store; may be repeated: when one is away it goes to the next',
    value: 'URL',
    many: true,
    parse: commaList(filled),
    env: ['LEASEHOLD_JOIN'],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  http: {
    doc: 'Speak to the node by plain requests instead of a WebSocket, where a network lets none pass',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  insecure: {
    doc: 'Send the secret to a node beyond this machine without TLS, for everybody on the way to read',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  code: {
    doc: 'Enrol with this code, which is good once; the secret that it gives is kept in DIR/worker.json',
    value: 'CODE',
    parse: filled,
    env: ['LEASEHOLD_WORKER_CODE'],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  asCode: {
    flag: 'code',
    doc: 'Show a code that is good once, for ten minutes, instead of the secret itself',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  grace: {
    doc: 'How long the old secret is good besides the new one',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => 0,
    fallbackDoc: '0s',
  },
  secret: {
    doc: 'The secret of the worker that is named',
    value: 'SECRET',
    parse: filled,
    env: ['LEASEHOLD_WORKER_SECRET'],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  once: {
    doc: 'Run one task, then end',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  idleExit: {
    doc: 'End when claims have waited this long in vain',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_IDLE_EXIT'],
    fallback: () => undefined,
    fallbackDoc: 'never',
  },
  drainTimeout: {
    doc: 'How long a stop waits for running tasks before it gives them back',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_DRAIN_TIMEOUT'],
    fallback: () => 30_000,
    fallbackDoc: '30s',
  },

  // One call: what is pushed, listed or changed.
  queue: {
    doc: 'Only this queue; may be repeated',
    value: 'QUEUE',
    many: true,
    parse: queueName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'all',
  },
  state: {
    doc: 'Only tasks in this state; may be repeated',
    value: 'STATE',
    many: true,
    parse: (text, name) => [oneOf(...STATES)(text, name)],
    env: [],
    fallback: () => [],
    fallbackDoc: 'all',
  },
  limit: {
    doc: 'How many to show at most, the newest ones',
    value: 'N',
    parse: wholeNumber(1, 1_000_000),
    env: [],
    fallback: () => 20,
  },
  handler: {
    doc: 'What performs the task',
    value: 'HANDLER',
    parse: handlerName,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the one named like the queue',
  },
  count: {
    doc: 'Push this many copies',
    value: 'N',
    parse: wholeNumber(1, 100_000_000),
    env: [],
    fallback: () => 1,
  },
  file: {
    doc: 'Read the input from a file: JSON, or one JSON value a line for as many tasks',
    value: 'FILE',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  priority: {
    doc: 'Higher goes first; may be below zero',
    value: 'N',
    signed: true,
    parse: wholeNumber(PRIORITY_MIN, PRIORITY_MAX),
    env: [],
    fallback: () => 0,
  },
  delay: {
    doc: 'Due this much later',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'at once',
  },
  unique: {
    doc: 'The same key and input lead to the same task, however often it is pushed',
    value: 'KEY',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  reuse: {
    doc: 'A result of the same handler and input that is no older takes the place of a run',
    value: 'TIME',
    parse: atLeast(1),
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'it runs',
  },
  reuseKey: {
    doc: 'The same for the same handler and this key, whatever the input; without --reuse up to 24 hours old',
    value: 'KEY',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  maxAttempts: {
    doc: 'How often it may be tried, crashes included',
    value: 'N',
    parse: wholeNumber(1, MAX_TRIES_BOUND),
    env: [],
    fallback: () => undefined,
    fallbackDoc: '3',
  },
  timeout: {
    doc: 'How long one attempt may run',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'no bound',
  },
  waitTimeout: {
    doc: 'How long it may wait for its first start; then it fails',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'no bound',
  },
  require: {
    doc: 'Only on a worker whose tags pass this test: gpu, gpu=nvidia, memory_gb>=16; may be repeated',
    value: 'TEST',
    many: true,
    parse: tagTest,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  only: {
    doc: 'Only on this worker; may be repeated, then on any of them',
    value: 'WORKER',
    many: true,
    parse: (text) => [workerId(text)],
    env: [],
    fallback: () => [],
    fallbackDoc: 'any',
  },
  never: {
    doc: 'Not on this worker; may be repeated',
    value: 'WORKER',
    many: true,
    parse: (text) => [workerId(text)],
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  limitUse: {
    doc: 'Takes one of this limit while it runs, or WEIGHT of it, also under a key; may be repeated',
    flag: 'limit',
    value: 'NAME[:KEY][*WEIGHT]',
    many: true,
    parse: limitUse,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  useCost: {
    doc: 'What its start takes of the cost of its limits, such as tokens',
    flag: 'cost',
    value: 'N',
    parse: wholeNumber(0, MAX_BOUND),
    env: [],
    fallback: () => 0,
  },
  fair: {
    doc: 'Whose turn it uses: keys share the workers evenly, however many tasks each of them has',
    value: 'KEY',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  follow: {
    doc: 'Show logs and states as they come, until the end',
    short: 'f',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  watch: {
    doc: 'Look each second: anew on a terminal, in a pipe a line for whatever has changed',
    short: 'w',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  interval: {
    doc: 'How often to look',
    value: 'TIME',
    parse: atLeast(MIN_LOOK_MS),
    env: [],
    fallback: () => 1000,
    fallbackDoc: '1s',
  },
  lookOnce: {
    doc: 'Look once and print it, then end',
    flag: 'once',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  open: {
    doc: 'Open the link in the browser of this machine',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  yes: {
    doc: 'Do it without asking',
    short: 'y',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  force: {
    doc: 'Replace what is there',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  dryRun: {
    doc: 'Only say what would be done',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  tree: {
    doc: 'Also all that was made to wait for it, and what any of these has spawned',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },
  broadcast: {
    doc: 'To everybody who waits now, and kept for nobody',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'to the one that has waited longest',
  },
  action: {
    doc: 'Which of the actions that the task offers',
    value: 'NAME',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the one named like the command',
  },
  data: {
    doc: 'What the task is handed with the decision',
    value: 'JSON',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'nothing',
  },
  decidedBy: {
    doc: 'Who decides; the task is told',
    flag: 'by',
    value: 'WHO',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the user of this system',
  },
  from: {
    doc: 'The SQLite store whose contents move',
    value: 'URL',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  to: {
    doc: 'The Postgres database that they move to',
    value: 'URL',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  json: {
    doc: 'Print one JSON object a line, for programs',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off',
  },

  // What is said of a limit or of a worker.
  concurrent: {
    doc: 'How much may run at once',
    value: 'N|none',
    parse: orNone(wholeNumber(0, MAX_BOUND)),
    env: [],
    ...UNSAID,
  },
  perKey: {
    doc: 'How much may run at once for each key',
    value: 'N|none',
    parse: orNone(wholeNumber(0, MAX_BOUND)),
    env: [],
    ...UNSAID,
  },
  rate: {
    doc: 'How many may start in any span of time: 100/1m',
    value: 'N/TIME|none',
    parse: orNone(rate),
    env: [],
    ...UNSAID,
  },
  rateBurst: {
    doc: 'How many of them may start at once; a tenth if nobody says so',
    value: 'N',
    parse: wholeNumber(1, MAX_BOUND),
    env: [],
    ...UNSAID,
  },
  ratePerKey: {
    doc: 'The rate is for each key instead of in total',
    either: true,
    parse: (): boolean => true,
    env: [],
    ...UNSAID,
  },
  cost: {
    doc: 'How much cost, such as tokens, may be started in any span of time: 90000/1m',
    value: 'N/TIME|none',
    parse: orNone(rate),
    env: [],
    ...UNSAID,
  },
  costBurst: {
    doc: 'How much of it may be started at once; a tenth if nobody says so',
    value: 'N',
    parse: wholeNumber(1, MAX_BOUND),
    env: [],
    ...UNSAID,
  },
  costPerKey: {
    doc: 'The cost is for each key instead of in total',
    either: true,
    parse: (): boolean => true,
    env: [],
    ...UNSAID,
  },
  strategy: {
    doc: `What becomes of a new task when there is no room: ${STRATEGIES.join(', ')}`,
    value: 'STRATEGY',
    parse: oneOf(...STRATEGIES),
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'as it is; queue at first',
  },
  backlog: {
    doc: 'How many may wait at most; a push beyond is refused',
    value: 'N|none',
    parse: orNone(wholeNumber(0, MAX_BOUND)),
    env: [],
    ...UNSAID,
  },
  key: {
    doc: 'Only this key of the limit',
    value: 'KEY',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the whole limit',
  },
  pauseFor: {
    doc: 'For how long; must be given',
    flag: 'for',
    value: 'TIME',
    parse: atLeast(1) as Parse<number>,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  by: {
    doc: 'Who changes it, for its history',
    value: 'WHO',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the user of this system',
  },
  add: {
    doc: 'Tag that the worker carries from now on; may be repeated',
    value: 'TAG',
    many: true,
    parse: tagName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  remove: {
    doc: 'Tag that it was given and carries no longer; may be repeated',
    value: 'TAG',
    many: true,
    parse: tagName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
} satisfies Readonly<Record<string, Option>>);

export type OptionKey = keyof typeof OPTIONS;

/** The settings of one process, parsed and frozen. Durations are milliseconds. */
export type Config = {
  readonly [K in OptionKey]: ReturnType<(typeof OPTIONS)[K]['parse']> | ReturnType<(typeof OPTIONS)[K]['fallback']>;
};

export const OPTION_KEYS = Object.freeze(Object.keys(OPTIONS) as OptionKey[]);

/** The declaration of an option without the type of its value, for code that treats all alike. */
export function optionOf(key: OptionKey): Option {
  return OPTIONS[key];
}

/** `leaseDuration` → `--lease-duration`. */
export function flagOf(key: OptionKey): string {
  return `--${optionOf(key).flag ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** As a person writes it: `--port PORT`, `-f, --follow`, `--no-worker`, `--[no-]rate-per-key`. */
export function usageOf(key: OptionKey): string {
  const { short, value, negatable, either } = optionOf(key);
  const flag = negatable ? negatedFlagOf(key) : flagOf(key).replace('--', either ? '--[no-]' : '--');
  return `${short === undefined ? '' : `-${short}, `}${flag}${value === undefined ? '' : ` ${value}`}`;
}

/** `worker` → `--no-worker`. */
export function negatedFlagOf(key: OptionKey): string {
  return flagOf(key).replace('--', '--no-');
}

/** The default as a person would write it. */
export function fallbackOf(key: OptionKey): string {
  const { fallbackDoc, fallback } = optionOf(key);
  return fallbackDoc ?? String(fallback({ dataDir: 'DIR' }));
}
