import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from './load.ts';
import {
  type Config,
  fallbackOf,
  flagOf,
  negatedFlagOf,
  OPTION_KEYS,
  type OptionKey,
  optionOf,
  usageOf,
} from './options.ts';

const ALL = { name: 'up', options: OPTION_KEYS };
/** One flag may belong to two options of different commands. */
const alone = (key: OptionKey) => ({ name: 'up', options: [key] });

/** For every option a text other than its default and the value that it stands for; a new option must come here too. */
const SAMPLES: { readonly [K in OptionKey]: readonly [text: string, value: Config[K]] } = {
  dataDir: ['elsewhere', 'elsewhere'],
  store: ['memory:', 'memory:'],
  host: ['localhost', 'localhost'],
  port: ['8080', 8080],
  server: ['http://127.0.0.1:7420', 'http://127.0.0.1:7420'],
  token: ['lh_adm_0123456789abcdef', 'lh_adm_0123456789abcdef'],
  clusterSecretFile: ['/run/secret', '/run/secret'],
  publicHost: ['tasks.example.org', ['tasks.example.org']],
  tlsCert: ['cert.pem', 'cert.pem'],
  tlsKey: ['key.pem', 'key.pem'],
  insecureBehindProxy: ['', true],
  otlpEndpoint: ['http://127.0.0.1:4318', 'http://127.0.0.1:4318'],
  serviceName: ['papers', 'papers'],
  http: ['', true],
  insecure: ['', true],
  publicUrl: ['https://tasks.example.org/', 'https://tasks.example.org'],
  release: ['./release', './release'],
  enrol: ['', true],
  keyFile: ['k.pem', 'k.pem'],
  validFor: ['30d', 30 * 24 * 3_600_000],
  minVersion: ['0.1.0', '0.1.0'],
  install: ['https://tasks.example.org', 'https://tasks.example.org'],
  updater: ['updater.json', 'updater.json'],
  maxConnections: ['50', 50],
  maxStreams: ['5', 5],
  triggerRoots: ['/srv', ['/srv']],
  pushRate: ['100', 100],
  maxQueued: ['1000', 1000],
  maxQueuedInAll: ['5000', 5000],
  durability: ['normal', 'normal'],
  logLevel: ['debug', 'debug'],
  leaseDuration: ['90s', 90_000],
  heartbeatInterval: ['5s', 5000],
  staleThreshold: ['1m', 60_000],
  offlineAfter: ['1s', 1000],
  taskTimeout: ['10m', 600_000],
  compat: ['dazflow', ['dazflow']],
  retention: ['2d', 172_800_000],
  auditRetention: ['90d', 7_776_000_000],
  artifactStore: ['s3://bucket/leasehold', 's3://bucket/leasehold'],
  artifactQuota: ['50GiB', 53_687_091_200],
  artifactTaskQuota: ['2.5MB', 2_500_000],
  artifactRetention: ['3d', 259_200_000],
  artifactPatience: ['90s', 90_000],
  artifactHosts: ['s3.internal,10.0.0.7', ['s3.internal', '10.0.0.7']],
  ofTask: ['42', '42'],
  ofRun: ['nightly/7', 'nightly/7'],
  saveAs: ['report.pdf', 'report.pdf'],
  role: ['observer', 'observer'],
  cluster: ['off', false],
  leaderLease: ['15s', 15_000],
  leaderRenew: ['5s', 5000],
  cleanupInterval: ['10s', 10_000],
  pollInterval: ['5s', 5000],
  nodeDeadThreshold: ['5m', 300_000],
  worker: ['', false],
  context: ['{"input":{"n":1}}', { input: { n: 1 } }],
  engine: ['cel', 'cel'],
  batch: ['-', '-'],
  slots: ['16', 16],
  name: ['box', 'box'],
  tag: ['gpu=nvidia', ['gpu=nvidia']],
  workerPriority: ['-5', -5],
  handlers: ['./mine.ts', ['./mine.ts']],
  allow: ['shell,js', ['shell', 'js']],
  allowHttp: ['db.internal,10.0.0.0/8', ['db.internal', '10.0.0.0/8']],
  allowEnv: ['OPENAI_API_KEY,KEY_2', ['OPENAI_API_KEY', 'KEY_2']],
  vault: ['./vault', './vault'],
  vaultLevel: ['keyring', 'keyring'],
  loopRoots: ['main=/srv/a=b', [{ name: 'main', folder: '/srv/a=b' }]],
  workspaceFolder: ['/srv/workspaces', '/srv/workspaces'],
  orphans: ['', true],
  gitHosts: ['github.com,*.example.com,[::1]:8443', ['github.com', '*.example.com', '[::1]:8443']],
  gitProtocols: ['https,http', ['https', 'http']],
  gitMaxFetch: ['2GiB', 2 * 2 ** 30],
  gitMaxTree: ['500MB', 500_000_000],
  gitTimeout: ['2m', 120_000],
  join: ['http://127.0.0.1:7420,http://b:7420', ['http://127.0.0.1:7420', 'http://b:7420']],
  code: ['lh_code_abc', 'lh_code_abc'],
  asCode: ['', true],
  grace: ['1h', 3_600_000],
  secret: ['lh_wrk_abc', 'lh_wrk_abc'],
  once: ['', true],
  idleExit: ['30s', 30_000],
  drainTimeout: ['1m', 60_000],
  poolMin: ['1', 1],
  poolMax: ['20', 20],
  tasksPerWorker: ['4', 4],
  scaleUpThreshold: ['5', 5],
  targetWait: ['30s', 30_000],
  poolIdle: ['5m', 300_000],
  cooldownUp: ['10s', 10_000],
  cooldownDown: ['1m', 60_000],
  burst: ['5', 5],
  startTimeout: ['2m', 120_000],
  life: ['stay', 'stay'],
  launcher: ['{"kind":"command","argv":["a"]}', { kind: 'command', argv: ['a'] }],
  enabled: ['', true],
  maxWorkers: ['3', 3],
  seeds: ['100', 100],
  ticket: ['tk-abc.def', 'tk-abc.def'],
  pool: ['papers', 'papers'],
  queue: ['papers', ['papers']],
  state: ['failed', ['failed']],
  leastWorkers: ['2', 2],
  mostWorkers: ['8', 8],
  waitingRuns: ['10', 10],
  workerIdle: ['1m', 60_000],
  monitorInterval: ['1s', 1000],
  scaling: ['demand', 'demand'],
  processes: ['', true],
  runsPerWorker: ['3', 3],
  retryFailures: ['', true],
  runHandler: ['./handler.ts', './handler.ts'],
  gatewayUrl: ['http://127.0.0.1:8002', 'http://127.0.0.1:8002'],
  limit: ['5', 5],
  handler: ['Summarise', 'Summarise'],
  count: ['1000', 1000],
  file: ['in.ndjson', 'in.ndjson'],
  priority: ['-5', -5],
  delay: ['5m', 300_000],
  unique: ['doi:10', 'doi:10'],
  reuse: ['1h', 3_600_000],
  reuseKey: ['doi:10', 'doi:10'],
  maxAttempts: ['7', 7],
  timeout: ['10m', 600_000],
  waitTimeout: ['1h', 3_600_000],
  require: ['memory_gb>=16', ['memory_gb>=16']],
  only: ['laptop', ['laptop']],
  never: ['laptop', ['laptop']],
  limitUse: ['openai:alice*2', [{ name: 'openai', key: 'alice', weight: 2 }]],
  useCost: ['1500', 1500],
  fair: ['alice', 'alice'],
  permissions: ['{"queues":["b","a"]}', { queues: ['a', 'b'] }],
  follow: ['', true],
  watch: ['', true],
  interval: ['2s', 2000],
  lookOnce: ['', true],
  open: ['', true],
  concurrent: ['4', 4],
  perKey: ['none', null],
  rate: ['100/1m', { max: 100, windowMs: 60_000 }],
  rateBurst: ['10', 10],
  ratePerKey: ['', true],
  cost: ['90000/1m', { max: 90_000, windowMs: 60_000 }],
  costBurst: ['10', 10],
  costPerKey: ['', true],
  strategy: ['refuse', 'refuse'],
  backlog: ['0', 0],
  key: ['alice', 'alice'],
  pauseFor: ['5m', 300_000],
  by: ['ada', 'ada'],
  add: ['gpu', ['gpu']],
  remove: ['gpu', ['gpu']],
  grantHandler: ['Render', ['Render']],
  grantQueue: ['media', ['media']],
  grantSlots: ['16', 16],
  earlierSecretFile: ['old', 'old'],
  credentialWorker: ['box', ['box']],
  credentialTag: ['gpu', ['gpu']],
  credentialLevel: ['keyring', 'keyring'],
  credentialFile: ['a.txt', 'a.txt'],
  credentialFields: ['', true],
  credentialType: ['login', 'login'],
  ownCredentials: ['on', true],
  any: ['', true],
  permitHandler: ['render-*', ['render-*']],
  permitQueue: ['media', ['media']],
  permitTag: ['gpu', ['gpu']],
  permitWorker: ['laptop', ['laptop']],
  permitLimit: ['openai', ['openai']],
  permitChannel: ['orders:*', ['orders:*']],
  permitWait: ['approval/*', ['approval/*']],
  permitReuse: ['', true],
  none: ['', true],
  yes: ['', true],
  force: ['', true],
  takeTag: ['', true],
  requireSigned: ['keys.pub', 'keys.pub'],
  allowCommand: ['/bin/date *', ['/bin/date *']],
  signKey: ['my.key', 'my.key'],
  signFor: ['1h', 3_600_000],
  settingsFile: ['all.yml', 'all.yml'],
  prune: ['', true],
  settingsKind: ['tags', ['tags']],
  settingsOut: ['out.yml', 'out.yml'],
  asDazflow: ['', true],
  renew: ['', true],
  keepTokens: ['', true],
  dryRun: ['', true],
  tree: ['', true],
  broadcast: ['', true],
  action: ['go', 'go'],
  data: ['{"n":1}', '{"n":1}'],
  waitKey: ['approval:ship#0', 'approval:ship#0'],
  decidedBy: ['ada', 'ada'],
  from: ['sqlite:a.db', 'sqlite:a.db'],
  to: ['postgres://db/work', 'postgres://db/work'],
  json: ['', true],
  input: ['{"n":1}', '{"n":1}'],
  auditActor: ['anna', 'anna'],
  auditAction: ['purgeQueue', 'purgeQueue'],
  auditTarget: ['mail', 'mail'],
  since: ['1h', 3_600_000],
  head: ['3f7c', '3f7c'],
  runName: ['nightly/7', 'nightly/7'],
  cancelReason: ['wrong data', 'wrong data'],
  stat: ['', true],
  upTo: ['fetch', 'fetch'],
  trigger: ['start', 'start'],
  workflowFile: ['hello.json', 'hello.json'],
  expected: ['3', 3],
  forkStep: ['s:000003', 's:000003'],
  changes: ['{"n":1}', { n: 1 }],
  workflowName: ['nightly@2', 'nightly@2'],
  machineName: ['echo_processor', 'echo_processor'],
  machineFile: ['machine.yml', 'machine.yml'],
  executionId: ['order-42', 'order-42'],
  parentId: ['order-1', 'order-1'],
  maxSteps: ['10', 10],
  hooksModule: ['./hooks.ts', ['./hooks.ts']],
  signals: ['approval/42={"ok":true}', [{ channel: 'approval/42', data: { ok: true } }]],
  verbose: ['', true],
  strict: ['', true],
  format: ['mermaid', 'mermaid'],
  cron: ['0 9 * * mon-fri', '0 9 * * mon-fri'],
  every: ['15m', '15m'],
  at: ['2026-12-24T18:00', '2026-12-24T18:00'],
  daily: ['09:30', '09:30'],
  weekly: ['mon,wed@09:30', 'mon,wed@09:30'],
  monthly: ['last@09:30', 'last@09:30'],
  timezone: ['Europe/Berlin', 'Europe/Berlin'],
  missed: ['all', 'all'],
  times: ['30', 30],
};

test('each family of options is in the table, and no two of them name an option alike', async () => {
  const keys: string[] = [];
  for (const file of readdirSync(new URL('options/', import.meta.url))) {
    const families: Record<string, object> = await import(new URL(`options/${file}`, import.meta.url).href);
    for (const [name, family] of Object.entries(families))
      if (name.endsWith('_OPTIONS')) keys.push(...Object.keys(family));
  }
  assert.deepEqual(keys.sort(), [...OPTION_KEYS].sort());
});

test('every option has a flag that sets it, and nothing else changes but what follows from it', () => {
  const plain = loadConfig(ALL, [], {});
  for (const key of OPTION_KEYS) {
    const [text, value] = SAMPLES[key];
    const { value: placeholder, negatable } = optionOf(key);
    const flag = negatable ? negatedFlagOf(key) : flagOf(key);
    const args = placeholder === undefined ? [flag] : [flag, text];
    const config = loadConfig(alone(key), args, {});
    assert.deepEqual(config[key], value, key);
    assert.notDeepEqual(plain[key], value, `the sample of ${key} is not its default`);
    const follows = { dataDir: text, store: `sqlite:${text}/leasehold.db`, workspaceFolder: `${text}/workspaces` };
    const expected = key === 'dataDir' ? { ...plain, ...follows } : plain;
    assert.deepEqual({ ...config, [key]: expected[key] }, expected, key);
  }
});

test('every variable of every option sets it', () => {
  for (const key of OPTION_KEYS) {
    const [text, value] = SAMPLES[key];
    for (const name of optionOf(key).env) assert.deepEqual(loadConfig(ALL, [], { [name]: text })[key], value, name);
  }
});

test('flags and variables have one owner each and are spelled as they are documented', () => {
  const flags = OPTION_KEYS.map(flagOf);
  // That no command takes two of one flag is held by the test of the help.
  const owned = OPTION_KEYS.filter((key) => optionOf(key).flag === undefined).map(flagOf);
  assert.equal(new Set(owned).size, owned.length);
  for (const flag of flags) assert.match(flag, /^--[a-z]+(-[a-z]+)*$/);
  const names = OPTION_KEYS.flatMap((key) => optionOf(key).env);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^(LEASEHOLD|APFLOW|OTEL)(_[A-Z]+)+$/);
  for (const key of OPTION_KEYS) {
    const { doc, value, env } = optionOf(key);
    assert.match(doc, /^[A-Z].*[^.]$/, key);
    assert.ok(env.length === 0 || value !== undefined, `${key}: a switch belongs to one call and has no variable`);
    assert.ok(env.length === 0 || env[0]?.startsWith('LEASEHOLD_'), `${key}: our own name comes first`);
  }
});

test('what is on by itself is turned off by its flag, and only a switch can be', () => {
  for (const key of OPTION_KEYS) {
    const { negatable, value, fallback } = optionOf(key);
    assert.equal(negatable === true, value === undefined && fallback({ dataDir: '' }) === true, key);
  }
});

test('a switch that may be said both ways takes each, and is unsaid by itself', () => {
  for (const key of OPTION_KEYS.filter((one) => optionOf(one).either)) {
    assert.equal(loadConfig(alone(key), [], {})[key], undefined, key);
    assert.equal(loadConfig(alone(key), [negatedFlagOf(key)], {})[key], false, key);
  }
});

test('letters have one owner each, but for two that no command takes both, and a list begins empty', () => {
  const owners = Object.groupBy(OPTION_KEYS, (key) => optionOf(key).short ?? '');
  const shared = Object.entries(owners).filter(([letter, keys]) => letter !== '' && (keys?.length ?? 0) > 1);
  assert.deepEqual(shared, [['f', ['follow', 'settingsFile', 'workflowFile']]]);
  for (const key of OPTION_KEYS) {
    if (optionOf(key).many) assert.deepEqual(optionOf(key).fallback({ dataDir: '' }), [], key);
  }
});

test('the reference page lists exactly the declared options, with their variables and defaults', () => {
  const page = readFileSync(new URL('../../docs/reference/config.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(-[^`]+)` \| (.*) \| `([^`]*)` \| (.+) \|$/gm)].map((row) => row.slice(1));
  const declared = OPTION_KEYS.map((key) => {
    const { doc, env } = optionOf(key);
    const names = env.map((name) => `\`${name}\``).join(', ') || '–';
    return [usageOf(key), names, fallbackOf(key), doc].map((cell) => cell.replaceAll('|', '\\|'));
  });
  assert.deepEqual(rows, declared);
});
