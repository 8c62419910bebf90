import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, isEngineError } from '../core/errors.ts';
import { type Environment, loadCall, loadConfig, sourceOf } from './load.ts';
import { CREDENTIAL_OPTIONS } from './options/credentials.ts';
import { GRANT_OPTIONS } from './options/grants.ts';
import { OPTION_KEYS, type OptionKey } from './options.ts';
import { defaultWorkerName, hostWorkerName, workerNameFor } from './worker-name.ts';

/** Without flags that mean something else to the commands of grants and credentials. */
const OTHERS = { ...GRANT_OPTIONS, ...CREDENTIAL_OPTIONS };
const UP = { name: 'up', options: OPTION_KEYS.filter((key) => !Object.hasOwn(OTHERS, key)) };
const load = (args: readonly string[], env: Environment = {}) => loadConfig(UP, args, env);

function refused(args: readonly string[], env: Environment, code: ErrorCode, says: RegExp): void {
  assert.throws(
    () => load(args, env),
    (error: unknown) => {
      assert.ok(isEngineError(error, code), String(error));
      assert.match(`${error.message} ${error.hint}`, says);
      return true;
    },
  );
}

test('without flags and variables there are the documented defaults', () => {
  assert.deepEqual(load([]), {
    at: undefined,
    cron: undefined,
    daily: undefined,
    every: undefined,
    missed: 'latest',
    monthly: undefined,
    times: 5,
    timezone: 'UTC',
    weekly: undefined,
    name: undefined,
    dataDir: '.leasehold',
    store: 'sqlite:.leasehold/leasehold.db',
    host: '127.0.0.1',
    port: 7420,
    server: undefined,
    watch: false,
    interval: 1000,
    lookOnce: false,
    open: false,
    token: undefined,
    clusterSecretFile: undefined,
    renew: false,
    keepTokens: false,
    batch: undefined,
    context: {},
    engine: 'simple',
    input: undefined,
    workflowName: undefined,
    machineName: undefined,
    machineFile: undefined,
    executionId: undefined,
    parentId: undefined,
    maxSteps: undefined,
    hooksModule: [],
    signals: [],
    verbose: false,
    strict: false,
    format: 'text',
    publicHost: [],
    tlsCert: undefined,
    tlsKey: undefined,
    insecureBehindProxy: false,
    otlpEndpoint: undefined,
    serviceName: 'leasehold',
    publicUrl: undefined,
    maxConnections: undefined,
    maxStreams: 1000,
    pushRate: 10_000,
    maxQueued: 1_000_000,
    maxQueuedInAll: 10_000_000,
    triggerRoots: [],
    join: [],
    http: false,
    insecure: false,
    code: undefined,
    asCode: false,
    grace: 0,
    secret: undefined,
    durability: 'full',
    logLevel: 'info',
    role: 'auto',
    cluster: true,
    leaderLease: 30_000,
    leaderRenew: 10_000,
    cleanupInterval: 1000,
    pollInterval: 1000,
    nodeDeadThreshold: 120_000,
    leaseDuration: 30_000,
    head: undefined,
    heartbeatInterval: 10_000,
    staleThreshold: 30_000,
    offlineAfter: 60_000,
    taskTimeout: undefined,
    compat: [],
    retention: 604_800_000,
    auditRetention: 34_560_000_000,
    artifactStore: undefined,
    artifactQuota: undefined,
    artifactTaskQuota: undefined,
    artifactRetention: undefined,
    artifactPatience: 300_000,
    artifactHosts: [],
    ofTask: undefined,
    ofRun: undefined,
    saveAs: undefined,
    worker: true,
    slots: 4,
    tag: [],
    workerPriority: 0,
    handlers: [],
    allow: undefined,
    allowHttp: [],
    allowEnv: [],
    loopRoots: [],
    workspaceFolder: '.leasehold/workspaces',
    orphans: false,
    gitHosts: [],
    gitProtocols: ['https', 'ssh'],
    gitMaxFetch: undefined,
    gitMaxTree: undefined,
    gitTimeout: undefined,
    vault: undefined,
    vaultLevel: undefined,
    once: false,
    idleExit: undefined,
    burst: undefined,
    cooldownDown: undefined,
    cooldownUp: undefined,
    enabled: undefined,
    gatewayUrl: undefined,
    launcher: undefined,
    leastWorkers: 1,
    life: undefined,
    maxWorkers: undefined,
    monitorInterval: 10_000,
    mostWorkers: 4,
    pool: undefined,
    poolIdle: undefined,
    poolMax: undefined,
    poolMin: undefined,
    processes: false,
    retryFailures: false,
    runHandler: undefined,
    runsPerWorker: 1,
    scaleUpThreshold: undefined,
    scaling: 'threshold',
    seeds: 10,
    startTimeout: undefined,
    targetWait: undefined,
    tasksPerWorker: undefined,
    ticket: undefined,
    waitingRuns: 5,
    workerIdle: 300_000,
    drainTimeout: 30_000,
    queue: [],
    state: [],
    limit: 20,
    handler: undefined,
    count: 1,
    file: undefined,
    priority: 0,
    delay: undefined,
    unique: undefined,
    maxAttempts: undefined,
    timeout: undefined,
    waitTimeout: undefined,
    require: [],
    only: [],
    never: [],
    limitUse: [],
    useCost: 0,
    fair: undefined,
    permissions: undefined,
    follow: false,
    concurrent: undefined,
    perKey: undefined,
    rate: undefined,
    rateBurst: undefined,
    ratePerKey: undefined,
    cost: undefined,
    costBurst: undefined,
    costPerKey: undefined,
    strategy: undefined,
    backlog: undefined,
    key: undefined,
    pauseFor: undefined,
    by: undefined,
    add: [],
    remove: [],
    grantHandler: [],
    grantQueue: [],
    grantSlots: undefined,
    auditActor: undefined,
    auditAction: undefined,
    auditTarget: undefined,
    since: undefined,
    earlierSecretFile: undefined,
    allowCommand: [],
    asDazflow: false,
    enrol: false,
    install: undefined,
    keyFile: undefined,
    minVersion: undefined,
    prune: false,
    release: undefined,
    requireSigned: undefined,
    settingsFile: undefined,
    settingsKind: [],
    settingsOut: undefined,
    signFor: undefined,
    signKey: undefined,
    takeTag: false,
    updater: undefined,
    validFor: 7_776_000_000,
    credentialWorker: [],
    credentialTag: [],
    credentialLevel: undefined,
    credentialFile: undefined,
    credentialFields: false,
    credentialType: undefined,
    ownCredentials: undefined,
    any: false,
    permitHandler: [],
    permitQueue: [],
    permitTag: [],
    permitWorker: [],
    permitLimit: [],
    permitChannel: [],
    permitWait: [],
    permitReuse: false,
    none: false,
    yes: false,
    force: false,
    from: undefined,
    to: undefined,
    dryRun: false,
    tree: false,
    reuse: undefined,
    reuseKey: undefined,
    broadcast: false,
    action: undefined,
    data: undefined,
    decidedBy: undefined,
    waitKey: undefined,
    runName: undefined,
    cancelReason: undefined,
    stat: false,
    upTo: undefined,
    workflowFile: undefined,
    expected: undefined,
    trigger: undefined,
    forkStep: undefined,
    changes: undefined,
    json: false,
  });
});

test('a flag goes before a variable, and a variable before the default', () => {
  const env = { LEASEHOLD_PORT: '1000' };
  assert.equal(load([], env).port, 1000);
  assert.equal(load(['--port', '2000'], env).port, 2000);
  assert.equal(load(['--port=3000', '--port', '4000'], env).port, 4000, 'the last flag counts');
});

test('our own variable goes before the spelling of apflow, and an empty one counts as absent', () => {
  const env = {
    LEASEHOLD_LEASE_DURATION_SECONDS: '',
    APFLOW_LEASE_DURATION_SECONDS: '20',
    APFLOW_LEASE_DURATION: '10',
  };
  assert.equal(load([], env).leaseDuration, 20_000);
  assert.equal(load([], { ...env, LEASEHOLD_LEASE_DURATION_SECONDS: '0.5' }).leaseDuration, 500);
});

test('a setting that has been renamed takes its old spelling, and shows only the new one', () => {
  for (const old of ['004', 'dazflow']) {
    assert.deepEqual(load(['--compat', old]).compat, ['dazflow']);
    assert.deepEqual(load([], { LEASEHOLD_COMPAT: old }).compat, ['dazflow']);
  }
  refused(['--compat', '003'], {}, 'INVALID_INPUT', /"003" is not one of dazflow/);
});

test('the variables that count in seconds take bare numbers, flags take units', () => {
  assert.equal(load([], { LEASEHOLD_LEASE_DURATION_SECONDS: '1m30s' }).leaseDuration, 90_000);
  assert.equal(load(['--lease-duration', '5s']).leaseDuration, 5000);
  refused(['--lease-duration', '5'], {}, 'INVALID_INPUT', /--lease-duration.*"5" is not a duration/);
  refused(['--lease-duration', '50ms'], {}, 'INVALID_INPUT', /less than 100ms/);
});

test('the settings of apflow are taken as its document writes them, and in the short spelling of its program', () => {
  const long = {
    APFLOW_CLUSTER_ENABLED: 'true',
    APFLOW_NODE_ID: 'node-1',
    APFLOW_NODE_ROLE: 'auto',
    APFLOW_LEADER_LEASE_SECONDS: '30',
    APFLOW_LEADER_RENEW_SECONDS: '10',
    APFLOW_LEASE_DURATION_SECONDS: '30',
    APFLOW_LEASE_CLEANUP_INTERVAL_SECONDS: '10',
    APFLOW_POLL_INTERVAL_SECONDS: '5',
    APFLOW_MAX_PARALLEL_TASKS_PER_NODE: '4',
    APFLOW_NODE_STALE_THRESHOLD_SECONDS: '31',
    APFLOW_NODE_DEAD_THRESHOLD_SECONDS: '121',
  };
  const short = Object.fromEntries(
    Object.entries(long).map(([name, value]) => [name.replace(/_(SECONDS|PER_NODE)$/, ''), value]),
  );
  assert.notDeepEqual(Object.keys(short), Object.keys(long));
  for (const env of [long, short]) {
    const { cluster, name, role, leaderLease, leaderRenew, leaseDuration, ...rest } = load([], env);
    assert.deepEqual([cluster, name, role], [true, 'node-1', 'auto']);
    assert.deepEqual([leaderLease, leaderRenew, leaseDuration], [30_000, 10_000, 30_000]);
    const { cleanupInterval, pollInterval, slots, staleThreshold, nodeDeadThreshold } = rest;
    assert.deepEqual([cleanupInterval, pollInterval, slots], [10_000, 5000, 4]);
    assert.deepEqual([staleThreshold, nodeDeadThreshold], [31_000, 121_000]);
  }
  for (const [text, on] of [
    ['false', false],
    ['TRUE', true],
    ['0', false],
  ] as const) {
    assert.equal(load([], { APFLOW_CLUSTER_ENABLED: text }).cluster, on);
  }
  refused([], { LEASEHOLD_NODE_ROLE: 'king' }, 'INVALID_INPUT', /"king" is not one of auto, leader, worker, observer/);
  refused(['--cluster', 'perhaps'], {}, 'INVALID_INPUT', /--cluster/);
});

test('the store lies in the data folder unless it is named', () => {
  assert.equal(load(['--data-dir', '/var/lib/lh']).store, 'sqlite:/var/lib/lh/leasehold.db');
  assert.equal(load([], { LEASEHOLD_DATA_DIR: 'd' }).store, 'sqlite:d/leasehold.db');
  assert.equal(load(['--data-dir', 'd', '--store', 'memory:']).store, 'memory:');
});

test('the settings cannot be changed once they are read', () => {
  assert.ok(Object.isFrozen(load([])));
});

test('an unknown flag is refused with the one that was probably meant', () => {
  refused(['--prot', '1'], {}, 'UNKNOWN_OPTION', /There is no option --prot\. Did you mean --port\?/);
  refused(['--prot=1'], {}, 'UNKNOWN_OPTION', /Did you mean --port\?/);
  refused(['--Data-Dri', 'x'], {}, 'UNKNOWN_OPTION', /Did you mean --data-dir\?/);
  refused(['--frobnicate'], {}, 'UNKNOWN_OPTION', /"leasehold up --help" lists/);
  refused(['-q', '1'], {}, 'UNKNOWN_OPTION', /There is no option -q\./);
});

test('a flag that this command does not take is unknown to it', () => {
  assert.throws(
    () => loadConfig({ name: 'version', options: ['json'] }, ['--port', '1'], {}),
    /There is no option --port/,
  );
});

test('a variable one slip away from ours is refused, any other is left alone', () => {
  refused([], { LEASEHOLD_PROT: '1' }, 'UNKNOWN_OPTION', /LEASEHOLD_PROT\. Did you mean LEASEHOLD_PORT\?/);
  const others = [
    'LEASEHOLD_SERVICE_HOST',
    'LEASEHOLD_PORT_7420_TCP',
    'LEASEHOLD_TEST_SCALE',
    'APFLOW_TASK_TABLE_NAME',
    'PATH',
  ];
  assert.deepEqual(load([], Object.fromEntries(others.map((name) => [name, 'x']))), load([]));
});

test('what Kubernetes sets beside a service named leasehold changes nothing', () => {
  const env = {
    LEASEHOLD_SERVICE_HOST: '10.0.0.1',
    LEASEHOLD_SERVICE_PORT: '7420',
    LEASEHOLD_SERVICE_PORT_HTTP: '7420',
    LEASEHOLD_PORT: 'tcp://10.0.0.1:7420',
    LEASEHOLD_PORT_7420_TCP: 'tcp://10.0.0.1:7420',
    LEASEHOLD_PORT_7420_TCP_PROTO: 'tcp',
    LEASEHOLD_PORT_7420_TCP_PORT: '7420',
    LEASEHOLD_PORT_7420_TCP_ADDR: '10.0.0.1',
  };
  assert.deepEqual(load([], env), load([]));
  assert.equal(load(['--port', '1000'], env).port, 1000);
});

test('a value of the wrong form is refused by the name that it was given under', () => {
  for (const port of ['-1', '65536', '1e3', '80 ', 'http', '', '0x10']) {
    refused([`--port=${port}`], {}, 'INVALID_INPUT', /The --port is not valid/);
  }
  refused([], { LEASEHOLD_PORT: 'http' }, 'INVALID_INPUT', /The LEASEHOLD_PORT is not valid/);
  refused(['--port', 'tcp://10.0.0.1:7420'], {}, 'INVALID_INPUT', /The --port is not valid/);
  refused(['--durability', 'off'], {}, 'INVALID_INPUT', /"off" is not one of full, normal/);
  refused(['--store='], {}, 'INVALID_INPUT', /--store.*empty/);
});

test('a flag without its value, a switch with one and a stray argument are refused', () => {
  refused(['--port'], {}, 'INVALID_INPUT', /--port is not valid: it needs a value \(PORT\)/);
  refused(['--port', '--json'], {}, 'INVALID_INPUT', /it needs a value/);
  refused(['--json=yes'], {}, 'INVALID_INPUT', /--json is not valid: it takes no value/);
  refused(['now'], {}, 'INVALID_INPUT', /takes no argument like "now"/);
  refused(['--', 'now'], {}, 'INVALID_INPUT', /takes no argument like "now"/);
});

test('an option that may be repeated gathers what it is given, in order', () => {
  assert.deepEqual(load(['--queue', 'b', '--tag', 'gpu', '--queue=a']).queue, ['b', 'a']);
  assert.deepEqual(load(['--state', 'failed', '--state', 'cancelled']).state, ['failed', 'cancelled']);
  refused(['--state', 'done'], {}, 'INVALID_INPUT', /"done" is not one of ready, running/);
  refused(['--queue', 'Not A Name'], {}, 'INVALID_INPUT', /queue name is not valid/);
});

test('a switch that is on has a flag that turns it off; the last one counts', () => {
  assert.equal(load(['--no-worker']).worker, false);
  assert.equal(load(['--no-worker', '--worker']).worker, true);
  refused(['--no-worker=yes'], {}, 'INVALID_INPUT', /--no-worker is not valid: it takes no value/);
  refused(['--no-wroker'], {}, 'UNKNOWN_OPTION', /Did you mean --no-worker\?/);
  refused(['--no-json'], {}, 'UNKNOWN_OPTION', /There is no option --no-json/);
});

test('some switches have a letter, and a number below zero is a value', () => {
  const few = (options: readonly OptionKey[], args: readonly string[]) => loadConfig({ ...UP, options }, args, {});
  assert.equal(few(['follow'], ['-f']).follow, true);
  assert.deepEqual([few(['follow', 'yes'], ['-fy']).follow, few(['follow', 'yes'], ['-fy']).yes], [true, true]);
  assert.equal(few(['workflowFile'], ['-f', 'hello.json']).workflowFile, 'hello.json');
  assert.equal(load(['--priority', '-5']).priority, -5);
  refused(['--priority', '--json'], {}, 'INVALID_INPUT', /it needs a value/);
  refused(['--count', '-5'], {}, 'INVALID_INPUT', /it needs a value/);
  refused(['--count', '0'], {}, 'INVALID_INPUT', /whole number from 1/);
});

test('lists take commas, and what may run code can be none at all', () => {
  assert.deepEqual(load(['--allow', 'js, shell']).allow, ['js', 'shell']);
  assert.deepEqual(load(['--allow', 'none']).allow, []);
  assert.deepEqual(load(['--allow-http', 'db.internal,10.0.0.0/8', '--allow-http', '::1']).allowHttp, [
    'db.internal',
    '10.0.0.0/8',
    '::1',
  ]);
  refused(['--allow', 'shell,python'], {}, 'INVALID_INPUT', /"python" is not one of shell, js/);
  for (const place of ['10.0.0.0/33', 'x/8', '10.0.0.0/8/8', 'a b', '', '10.0.0.0/', 'fd00::/129']) {
    refused([`--allow-http=${place}`], {}, 'INVALID_INPUT', /--allow-http is not valid/);
  }
});

test('the name of a worker is made of the host and the process, with what a name may have', () => {
  assert.equal(workerNameFor('Build Box.Local', 12), 'build-box.local-12');
  assert.equal(workerNameFor('', 12), 'worker-12');
  assert.equal(workerNameFor('Build Box.Local'), 'build-box.local');
  assert.equal(workerNameFor(''), 'worker');
  assert.equal(workerNameFor('--x', 1), 'x-1');
  assert.equal(workerNameFor('h'.repeat(100), 4_194_304).length, 63);
  assert.equal(load([], { LEASEHOLD_NODE_ID: 'box-1' }).name, 'box-1');
  assert.match(defaultWorkerName(), new RegExp(`^[a-z0-9][a-z0-9._-]*-${process.pid}$`));
  assert.equal(defaultWorkerName(), `${hostWorkerName()}-${process.pid}`);
});

test('arguments go to their places: one that is missing, and one too many, are named', () => {
  const usage = {
    name: 'push',
    args: [
      { name: 'QUEUE', doc: 'Where it waits' },
      { name: 'JSON', doc: 'The input', optional: true },
    ] as const,
    options: OPTION_KEYS,
  };
  assert.deepEqual(loadCall(usage, ['q', '--json', '-'], {}).args, ['q', '-']);
  assert.deepEqual(loadCall(usage, ['q', '--', '--json'], {}).args, ['q', '--json']);
  assert.throws(() => loadCall(usage, ['--json'], {}), /"leasehold push" needs QUEUE \(where it waits\)/);
  assert.throws(() => loadCall(usage, ['q', '1', 'x'], {}), /takes no argument like "x"/);
  const many = { ...usage, args: [{ name: 'ID', doc: 'Which task', many: true }] as const };
  assert.deepEqual(loadCall(many, ['1', '2', '3'], {}).args, ['1', '2', '3']);
  assert.throws(() => loadCall(many, [], {}), /needs ID/);
});

test('a number below zero is an argument where one may be, and a flag elsewhere', () => {
  const usage = {
    name: 'workers priority',
    args: [
      { name: 'NAME', doc: 'Who' },
      { name: 'N', doc: 'How much', signed: true },
    ],
    options: ['json'],
  } as const;
  const { args, config } = loadCall(usage, ['laptop', '-15', '--json'], {});
  assert.deepEqual([args, config.json], [['laptop', '-15'], true]);
  assert.throws(() => loadCall(usage, ['laptop', '-x'], {}), /There is no option -x/);
  assert.throws(
    () => loadCall({ ...usage, args: [{ name: 'NAME', doc: 'Who' }] }, ['-15'], {}),
    /There is no option -1/,
  );
});

test('a use of a limit is a name, a key and a weight, and a key may hold anything else', () => {
  const use = (text: string) => loadConfig({ name: 'push', options: ['limitUse'] }, ['--limit', text], {}).limitUse;
  assert.deepEqual(use('openai'), [{ name: 'openai' }]);
  assert.deepEqual(use('openai*3'), [{ name: 'openai', weight: 3 }]);
  assert.deepEqual(use('openai:a:b*c*2'), [{ name: 'openai', key: 'a:b*c', weight: 2 }]);
  for (const text of ['', ':alice', 'openai:', 'openai*', 'openai*0', 'Open AI', 'openai:*2'])
    assert.throws(() => use(text), { code: 'INVALID_INPUT' }, text);
});

test('a rate is a number and a time', () => {
  const rate = (text: string) => loadConfig({ name: 'limits set', options: ['rate'] }, ['--rate', text], {}).rate;
  assert.deepEqual(rate('100/1h30m'), { max: 100, windowMs: 5_400_000 });
  assert.equal(rate('none'), null);
  for (const text of ['100', '/1m', '100/', '100/60', '-1/1m', '1/1m/2'])
    assert.throws(() => rate(text), { code: 'INVALID_INPUT' }, text);
});

test('it is known whether a setting was said by a flag, by a variable or by nobody', () => {
  const usage = { name: 'up', options: ['store', 'server'] } as const;
  const config = loadConfig(usage, ['--store', 'memory:'], {
    LEASEHOLD_STORE: 'sqlite:x',
    LEASEHOLD_SERVER: 'http://x',
  });
  assert.deepEqual(
    [sourceOf(config, 'store'), sourceOf(config, 'server'), sourceOf(config, 'token')],
    ['flag', 'environment', 'default'],
  );
  const empty = loadConfig(usage, [], { LEASEHOLD_STORE: '' });
  assert.equal(sourceOf(empty, 'store'), 'default');
});
