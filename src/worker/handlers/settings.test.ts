import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HandlerSettings, parseSettings, SETTINGS_VARIABLE, settingsEnvironment } from './settings.ts';

test('what a worker writes is what its child reads', () => {
  const settings: HandlerSettings = {
    http: { allow: ['10.0.0.0/8'], sign: ['HOOK_KEY'] },
    js: { root: '/modules' },
    only: ['echo', 'js'],
  };
  assert.deepEqual(parseSettings(settingsEnvironment(settings)[SETTINGS_VARIABLE]), settings);
});

test('without settings everything is as it comes', () => {
  assert.deepEqual(parseSettings(undefined), {});
  assert.deepEqual(parseSettings(''), {});
  assert.deepEqual(parseSettings('{"http":{},"js":{}}'), { http: {}, js: {} });
});

test('what is not understood is refused with its place', () => {
  const cases: [string, string][] = [
    ['{', 'it is not JSON'],
    ['[]', 'it must be an object'],
    ['{"shell":{}}', '"shell" is not one of http, js, only'],
    ['{"http":{"alow":[]}}', '"alow" is not one of allow, sign'],
    ['{"http":{"allow":"10.0.0.1"}}', 'http.allow must be a list of texts'],
    ['{"http":{"sign":false}}', 'http.sign must be a list of texts'],
    ['{"js":{"root":7}}', 'js.root must be the path of a folder'],
    ['{"js":null}', 'js must be an object'],
    ['{"only":["ehco"]}', '"ehco" in only is not one of aggregate, echo, shell, http, js'],
  ];
  for (const [text, problem] of cases) {
    assert.throws(
      () => parseSettings(text),
      { code: 'INVALID_INPUT', details: { field: SETTINGS_VARIABLE, problem } },
      text,
    );
  }
});
