import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { passesFilter } from './mcp.ts';
import { readAgent } from './read-agent.ts';

const read = (mcp: unknown, model: unknown = { name: 'm' }) => {
  const { agent, problems } = readAgent({ spec: 'flatagent', spec_version: '2.2.2', data: { user: 'x', model, mcp } });
  return {
    mcp: agent?.mcp,
    problems: problems.map(({ level, path, message }) => `${level} ${path.join('.')}: ${message}`),
  };
};

describe('the servers of an agent', () => {
  test('are programs with arguments, or addresses with headers', () => {
    const { mcp, problems } = read({
      servers: {
        files: { command: 'npx', args: ['-y', 'server', 8080], env: { A: 1 }, pass_env: 'TOKEN', timeout: 5 },
        web: { server_url: 'https://example.com/mcp', headers: { 'X-Team': 'a' }, token_env: 'KEY' },
      },
      tool_filter: { allow: ['files:*'], deny: ['files:write'] },
      tool_prompt: 'Tools: {{ tools | length }}',
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(mcp?.servers, [
      {
        name: 'files',
        command: ['npx', '-y', 'server', '8080'],
        env: { A: '1' },
        passEnv: ['TOKEN'],
        cwd: undefined,
        url: undefined,
        headers: {},
        tokenEnv: undefined,
        timeoutMs: 5000,
      },
      {
        name: 'web',
        command: [],
        env: {},
        passEnv: [],
        cwd: undefined,
        url: 'https://example.com/mcp',
        headers: { 'X-Team': 'a' },
        tokenEnv: 'KEY',
        timeoutMs: undefined,
      },
    ]);
  });

  test('all that is wrong with them is told, with its place', () => {
    const at = 'data.mcp.servers';
    assert.deepEqual(
      read({ servers: { a: {}, b: { command: 'x', server_url: 'http://x' }, c: { server_url: 'ftp://x' }, d: 5 } })
        .problems,
      [
        `error ${at}.a: a server has either "command", a program, or "server_url", an address`,
        `error ${at}.b: a server has either "command", a program, or "server_url", an address`,
        `error ${at}.c.server_url: expected an address that begins with http:// or https://`,
        `error ${at}.d: expected a map with "command" or "server_url"`,
        `warning ${at}: there is no server`,
      ],
    );
    assert.match(read({ servers: { a: { command: 'x', arg: [] } } }).problems.join(), /did you mean "args"/);
    assert.match(read(5).problems.join(), /error data.mcp: expected a map with "servers"/);
  });

  test('are not for programs, which have tools of their own', () => {
    const { agent, problems } = readAgent({
      spec: 'flatagent',
      spec_version: '4.0.0',
      data: { profile: { type: 'claude-code' }, user: 'x', mcp: { servers: { a: { command: 'x' } } } },
    });
    assert.ok(agent !== undefined);
    assert.match(problems.map(({ message }) => message).join(), /"claude-code" has tools of its own/);
  });
});

test('a filter names tools by server and name, with stars; a name alone is that of any server; deny goes first', () => {
  const passes = (allow: readonly string[] | undefined, deny: readonly string[] = []) =>
    ['a:read', 'a:write', 'b:read'].filter((one) => {
      const [server = '', tool = ''] = one.split(':');
      return passesFilter({ allow, deny }, server, tool);
    });
  assert.deepEqual(passes(undefined), ['a:read', 'a:write', 'b:read']);
  assert.deepEqual(passes(['a:*']), ['a:read', 'a:write']);
  assert.deepEqual(passes(['*:read']), ['a:read', 'b:read']);
  assert.deepEqual(passes(['read']), ['a:read', 'b:read']);
  assert.deepEqual(passes(['r*d'], ['b:*']), ['a:read']);
  assert.deepEqual(passes(undefined, ['write']), ['a:read', 'b:read']);
  assert.deepEqual(passes(['a:re', 'a:*x*', '*:rea']), []);
});
