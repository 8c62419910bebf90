/** Attacks on people who look, as far as the node can foil them; what a browser makes of them is tried in a browser. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Route } from '../../src/protocol/route.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import { tempFolder } from '../../src/store/conformance/kit/temp-folder.ts';
import { target } from './scene.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);

const folder = tempFolder('attacked-pages');
mkdirSync(join(folder, 'assets'));
writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Leasehold</title>');
writeFileSync(join(folder, 'assets', 'app-DkP3x9aQ.js'), 'export {}');

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; report-uri /ui/csp-report";

test('A16: every page may run only what we send, in no frame, and every answer is only what it says it is', async (t) => {
  const { node } = await target(t, { pages: () => folder, samples: false });
  for (const path of ['/ui/', '/ui/tasks/x', '/ui/assets/app-DkP3x9aQ.js', '/ui/assets/none.js', '/']) {
    const { headers } = await fetch(node.url(path), { redirect: 'manual' });
    assert.equal(headers.get('content-security-policy'), POLICY, path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(headers.get('x-frame-options'), 'DENY', path);
    assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin', path);
  }
  assert.doesNotMatch(POLICY, /unsafe|\*/);
  for (const [name, { path, method }] of ALL) {
    const { headers } = await node.ask(path.replace(/\{\w+\}/g, '999'), { method, token: null });
    assert.equal(headers.get('x-content-type-options'), 'nosniff', name);
    assert.doesNotMatch(headers.get('content-type') ?? '', /html|svg|xml/, name);
  }
});

/** What a page that puts texts together as HTML would run. */
const SCRIPTS = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "';alert(1)//", '{{7*7}}', '\u2028'];

test('A17: texts of tasks, errors, workers, logs and views come back as data, and never as a page', async (t) => {
  const { node } = await target(t, { samples: false });
  const { engine } = node;
  let failed = '';
  for (const [i, text] of SCRIPTS.entries()) {
    const hello = { name: `w${i}`, incarnation: `i${i}`, slots: 1, version: text, host: text, handlers: ['h'] };
    const schemas = [{ handler: 'h', schema: JSON.stringify({ title: text }) }];
    const worker = await engine.workers.register({ ...hello, schemas });
    failed = (await engine.push({ queue: 'q', handler: 'h', input: { text }, maxAttempts: 1 })).id;
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    await engine.logs.append(grant, [{ seq: 1, at: 0, stream: 'stdout', text }]);
    await engine.fail(grant, new Error(text));
    const saved = await node.ask('/api/v1/views', { body: { name: `view ${i}`, screen: 'tasks', query: text.trim() } });
    assert.equal(saved.status, 201, text);
  }
  const lists = ['tasks', 'failures', 'views', 'overview', 'handlers', 'tasks-histogram', 'me', 'workers'];
  for (const path of [...lists, `tasks/${failed}`, `tasks/${failed}/logs`].map((name) => `/api/v1/${name}`)) {
    const answer = await node.ask(path);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', path);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', path);
  }
  const wrong = await node.ask(`/ui-${encodeURIComponent(SCRIPTS[0] as string)}`);
  assert.equal(wrong.headers.get('content-type'), 'application/json; charset=utf-8', 'also what was not found');
  const { groups } = (await node.ask('/api/v1/failures')).body as { groups: { message: string }[] };
  assert.deepEqual(
    new Set(groups.map(({ message }) => message)),
    new Set(SCRIPTS),
    'as they were: to escape them is up to who shows them',
  );
});
