import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, isEngineError } from '../core/errors.ts';
import { type Environment, loadConfig } from './load.ts';
import { OPTION_KEYS } from './options.ts';

const UP = { name: 'up', options: OPTION_KEYS };
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
    dataDir: '.leasehold',
    store: 'sqlite:.leasehold/leasehold.db',
    host: '127.0.0.1',
    port: 7420,
    durability: 'full',
    leaseDuration: 30_000,
    retention: 604_800_000,
    json: false,
  });
});

test('a flag goes before a variable, and a variable before the default', () => {
  const env = { LEASEHOLD_PORT: '1000' };
  assert.equal(load([], env).port, 1000);
  assert.equal(load(['--port', '2000'], env).port, 2000);
  assert.equal(load(['--port=3000', '--port', '4000'], env).port, 4000, 'the last flag counts');
});

test('our own variable goes before the spelling of document 003, and an empty one counts as absent', () => {
  const env = {
    LEASEHOLD_LEASE_DURATION_SECONDS: '',
    APFLOW_LEASE_DURATION_SECONDS: '20',
    APFLOW_LEASE_DURATION: '10',
  };
  assert.equal(load([], env).leaseDuration, 20_000);
  assert.equal(load([], { ...env, LEASEHOLD_LEASE_DURATION_SECONDS: '0.5' }).leaseDuration, 500);
});

test('the variables that count in seconds take bare numbers, flags take units', () => {
  assert.equal(load([], { LEASEHOLD_LEASE_DURATION_SECONDS: '1m30s' }).leaseDuration, 90_000);
  assert.equal(load(['--lease-duration', '5s']).leaseDuration, 5000);
  refused(['--lease-duration', '5'], {}, 'INVALID_INPUT', /--lease-duration.*"5" is not a duration/);
  refused(['--lease-duration', '50ms'], {}, 'INVALID_INPUT', /less than 100ms/);
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
  refused(['-p', '1'], {}, 'UNKNOWN_OPTION', /There is no option -p\./);
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
    'LEASEHOLD_TOKEN',
    'LEASEHOLD_NODE_ID',
    'LEASEHOLD_LEADER_LEASE_SECONDS',
    'LEASEHOLD_LEASE_CLEANUP_INTERVAL_SECONDS',
    'APFLOW_LEADER_LEASE',
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
