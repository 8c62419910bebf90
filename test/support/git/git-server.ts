/** Repositories over HTTP on loopback: `git http-backend` as a CGI program behind a server of Node, with a password where there is one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { git } from './scratch.ts';

export interface GitServerOptions {
  readonly user?: string;
  readonly password?: string;
  /** Waits before it answers a fetch of objects. */
  readonly hold?: () => Promise<void>;
}

export interface GitServer {
  readonly url: string;
  readonly folder: string;
  readonly requests: string[];
  hold: (() => Promise<void>) | undefined;
  /** Makes a bare repository from a folder, and answers its URL. */
  publish(name: string, from: string): string;
}

export async function gitServer(folder: string, options: GitServerOptions = {}): Promise<GitServer> {
  mkdirSync(folder, { recursive: true });
  const requests: string[] = [];
  const http = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (
      options.password !== undefined &&
      request.headers.authorization !==
        `Basic ${Buffer.from(`${options.user ?? 'git'}:${options.password}`).toString('base64')}`
    ) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    const held = request.method === 'POST' ? server.hold?.() : undefined;
    void Promise.resolve(held).then(() => backend(folder, request, response));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  after(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: GitServer = {
    url,
    folder,
    requests,
    hold: options.hold,
    publish: (name, from) => {
      const bare = join(folder, `${name}.git`);
      git(folder, 'clone', '--quiet', '--bare', from, bare);
      git(bare, 'config', 'http.receivepack', 'true');
      git(bare, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
      return `${url}/${name}.git`;
    },
  };
  return server;
}

function backend(folder: string, request: IncomingMessage, response: ServerResponse): void {
  // Who has asked may be gone since.
  if (response.destroyed) return;
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'tester',
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => {});
  request.pipe(child.stdin);
  response.on('close', () => child.kill());
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) {
      if (!response.write(chunk)) {
        child.stdout.pause();
        response.once('drain', () => child.stdout.resume());
      }
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const fields = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(/: */, 2) as [string, string]);
    const status = Number(fields.find(([name]) => name.toLowerCase() === 'status')?.[1]?.slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(fields.filter(([name]) => name.toLowerCase() !== 'status')));
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.stdout.on('end', () => response.end());
}
