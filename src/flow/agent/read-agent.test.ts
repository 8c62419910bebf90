import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Value } from '../expression/values.ts';
import { Problems, pathText } from '../machine/problems.ts';
import type { Agent } from './definition.ts';
import { NO_PROFILES, type Profiles, readProfiles, resolveProfile } from './profiles.ts';
import { outputInstruction, renderPrompts } from './prompt.ts';
import { type AgentSurroundings, filesOfAgent, readAgent } from './read-agent.ts';

const file = (data: object, version = '2.2.2'): Value => ({ spec: 'flatagent', spec_version: version, data });

function agentOf(data: object, around: AgentSurroundings = {}): Agent {
  const { agent, problems } = readAgent(file(data), around);
  assert.ok(agent !== undefined, JSON.stringify(problems));
  return agent;
}

function problemsOf(value: Value, around: AgentSurroundings = {}): readonly string[] {
  return readAgent(value, around).problems.map(({ level, path, message }) => `${level} ${pathText(path)}: ${message}`);
}

function profilesOf(value: Value): Profiles {
  const problems = new Problems();
  const profiles = readProfiles(value, problems);
  assert.deepEqual(problems.all, []);
  return profiles;
}

describe('an agent', () => {
  test('its prompts see the input, and the suffix comes after the user prompt', () => {
    const agent = agentOf({
      model: { name: 'm' },
      system: 'You are {{ input.role }}.',
      user: 'Say {{ input.what }}',
      instruction_suffix: 'In {{ input.n }} words.',
    });
    assert.deepEqual(renderPrompts(agent, { role: 'kind', what: 'hello', n: 2 }), {
      system: 'You are kind.',
      user: 'Say hello\n\nIn 2 words.',
    });
  });

  test('a prompt is text: a lone value is printed, and a bare path is a word', () => {
    assert.equal(renderPrompts(agentOf({ user: '{{ input.list }}' }), { list: [1, 2] }).user, '[1,2]');
    assert.equal(renderPrompts(agentOf({ user: 'input' }), { a: 1 }).user, 'input');
  });

  test('a prompt that cannot be rendered is an error of the state', () => {
    const agent = agentOf({ user: 'so many: {{ range(1000000000) }}' });
    assert.throws(() => renderPrompts(agent, {}), /user: /);
  });

  test('all problems are listed with their places', () => {
    assert.deepEqual(
      problemsOf({ spec: 'flatagent', data: { user: '{{ oops', output: 3, tools: [{}], what: 1 } }).map((text) =>
        text.replace(/column.*/, 'column …'),
      ),
      [
        'warning data.what: there is no field "what"',
        'error data.user: column …',
        'error data.output: expected a map of fields, found a number',
        'error data.tools[0]: a tool is {type: function, function: {name, …}}',
      ],
    );
    assert.match(problemsOf({ spec: 'flatmachine' })[0] ?? '', /expected "spec: flatagent"/);
    assert.deepEqual(problemsOf([]), ['error : an agent is a map, not a list']);
  });

  test('what is only a warning keeps it from running when it is read strictly', () => {
    const value = file({ user: 'x', mcp: { servers: {} } });
    assert.ok(readAgent(value).agent !== undefined);
    assert.equal(readAgent(value, { strict: true }).agent, undefined);
    assert.match(problemsOf(value)[0] ?? '', /data.mcp.servers: there is no server/);
  });

  test('a backend that needs a login is refused, and a key in a file is told', () => {
    assert.match(
      problemsOf(file({ user: 'x', model: { name: 'm', backend: 'codex' } }))[0] ?? '',
      /error .*needs a login/,
    );
    assert.match(
      problemsOf(file({ user: 'x', model: { name: 'm', api_key: 'sk' } }))[0] ?? '',
      /warning .*api_key_env/,
    );
  });

  test('version 4 names a prompt and a profile, in files or within', () => {
    const value = file({ prompt: 'p.yml', profile: './q.yml' }, '4.0.0');
    assert.deepEqual(filesOfAgent(value), { prompt: 'p.yml', profile: './q.yml' });
    const { agent } = readAgent(value, {
      prompt: { spec: 'prompt', data: { user: 'Hi {{ input.x }}', output: { a: 'str' } } },
      profile: { spec: 'flatprofile', data: { type: 'claude-code', model: 'opus' } },
    });
    assert.deepEqual(agent?.profile, { runtime: 'claude-code', config: { model: 'opus' } });
    assert.equal(agent === undefined ? '' : renderPrompts(agent, { x: 'you' }).user, 'Hi you');
    const inline = agentOf({ prompt: { user: 'a' }, profile: { type: 'llm', model: { name: 'm' } } });
    assert.deepEqual(inline.profile, { runtime: 'llm', config: { name: 'm' } });
  });

  test('tools are taken in both forms, with our word for replays', () => {
    const agent = agentOf({
      user: 'x',
      tools: [
        { type: 'function', function: { name: 'a' }, replay: 'repeat' },
        { name: 'b', description: 'c' },
      ],
    });
    assert.deepEqual(agent.tools, [
      { type: 'function', function: { name: 'a' }, replay: 'repeat' },
      { type: 'function', function: { name: 'b', description: 'c' } },
    ]);
  });

  test('its output is asked for as a JSON schema', () => {
    assert.equal(outputInstruction(agentOf({ user: 'x' })), undefined);
    assert.match(outputInstruction(agentOf({ user: 'x', output: { n: 'int' } })) ?? '', /"n":\{"type":"integer"\}/);
  });
});

describe('a profile', () => {
  const profiles = profilesOf({
    spec: 'flatprofiles',
    data: {
      model_profiles: {
        cheap: { name: 'small', provider: 'p', temperature: 0.6 },
        best: { name: 'large' },
        forced: { temperature: 0 },
      },
      default: 'cheap',
      override: 'forced',
    },
  });
  const resolved = (own: Value, from = profiles): readonly [unknown, readonly string[]] => {
    const problems = new Problems();
    const { config } = resolveProfile(from, own, problems, ['data', 'model']);
    return [config, problems.all.map(({ message }) => message)];
  };

  test('default, named, own keys, override: each goes over the one before it', () => {
    assert.deepEqual(resolved(undefined), [{ name: 'small', provider: 'p', temperature: 0 }, []]);
    assert.deepEqual(resolved('best'), [{ name: 'large', provider: 'p', temperature: 0 }, []]);
    assert.deepEqual(resolved({ profile: 'best', seed: 7, temperature: 1, top_p: null }), [
      { name: 'large', provider: 'p', temperature: 0, seed: 7 },
      [],
    ]);
  });

  test('one that is not there gives way to the default, and without one is the name of a model', () => {
    assert.deepEqual(resolved('gone'), [
      { name: 'small', provider: 'p', temperature: 0 },
      ['there is no profile "gone": the default is used'],
    ]);
    assert.deepEqual(resolved('gpt-x', NO_PROFILES)[0], { name: 'gpt-x' });
  });

  test('one of another type replaces what came before', () => {
    const both = profilesOf({
      data: {
        profiles: { api: { type: 'llm', model: { name: 'm' } }, cli: { type: 'codex-cli', sandbox: 'read-only' } },
        default: 'api',
      },
    });
    assert.deepEqual(resolveProfile(both, 'cli', new Problems(), []), {
      runtime: 'codex-cli',
      config: { sandbox: 'read-only' },
    });
    assert.deepEqual(resolveProfile(both, { profile: 'cli', model: 'x' }, new Problems(), []).config, {
      sandbox: 'read-only',
      model: 'x',
    });
  });

  test('a default that is not there is told', () => {
    const problems = new Problems();
    readProfiles({ data: { model_profiles: {}, default: 'x' } }, problems);
    assert.deepEqual(
      problems.all.map(({ message }) => message),
      ['there is no profile "x"'],
    );
  });
});
