import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOf } from '../../../test/support/fleet/launching.ts';
import { LauncherKinds } from '../registry.ts';
import { remoteKinds } from './remote-kinds.ts';

const kinds = new LauncherKinds(remoteKinds({ environment: {}, allowHttp: [] }));

test('each kind is known by its name, and nothing is started by its settings alone', () => {
  assert.deepEqual(kinds.names, ['command', 'ssh', 'webhook', 'kubernetes']);
  const settings = [
    { kind: 'command', argv: ['docker', 'run', 'leasehold'] },
    { kind: 'ssh', host: 'gpu-1' },
    { kind: 'webhook', url: 'https://hooks.example/', sign: 'HOOK_KEY' },
  ];
  for (const setting of settings) assert.ok(kinds.make(setting, hostOf()), setting.kind);
});

test('a kind that is nearly right is named', () => {
  assert.throws(() => kinds.make({ kind: 'kubernets' }, hostOf()), { hint: 'Did you mean kubernetes?' });
});
