import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentAddress, installLine } from './join.ts';

const KEY = `ed25519:${'A'.repeat(43)}`;

test('the line that installs a worker names the node and the key that is pinned', () => {
  assert.equal(
    installLine('https://tasks.example.org', KEY),
    `curl -fsSL https://tasks.example.org/install.sh | sh -s -- --server https://tasks.example.org --key ${KEY}`,
  );
  assert.match(installLine('http://127.0.0.1:7420', KEY), /--key ed25519:A+$/);
});

test('it says what is not safe: a release without a signature, a link in the clear', () => {
  assert.match(installLine('http://box.lan:7420', undefined), / --unsigned --insecure$/);
});

test('an agent connects over a WebSocket, with TLS where the node has it', () => {
  assert.equal(agentAddress('https://tasks.example.org'), 'wss://tasks.example.org/ws/agent');
  assert.equal(agentAddress('http://127.0.0.1:7420'), 'ws://127.0.0.1:7420/ws/agent');
});
