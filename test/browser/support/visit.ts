/** A page in a real browser; whatever goes wrong in it without being seen fails the test. */
import assert from 'node:assert/strict';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type House, PATIENCE_MS } from './house.ts';

export const SIZES = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

export interface VisitOptions {
  /** Default: the admin; null: nobody is logged in. */
  readonly as?: 'admin' | 'operator' | 'read' | null;
  readonly theme?: 'light' | 'dark';
  readonly size?: keyof typeof SIZES;
  /** Lines of the console that this test means to provoke. */
  readonly forgive?: readonly RegExp[];
  /** For scripts of a test itself, such as axe. */
  readonly bypassCSP?: boolean;
}

export class Visit {
  readonly house: House;
  readonly context: BrowserContext;
  readonly page: Page;
  /** What went wrong, or ran though it must not. */
  readonly troubles: string[] = [];
  readonly #forgive: readonly RegExp[];

  private constructor(house: House, context: BrowserContext, page: Page, forgive: readonly RegExp[]) {
    this.house = house;
    this.context = context;
    this.page = page;
    this.#forgive = forgive;
  }

  static async open(browser: Browser, house: House, options: VisitOptions = {}): Promise<Visit> {
    const { as = 'admin', theme = 'light', size = 'wide', forgive = [], bypassCSP = false } = options;
    const context = await browser.newContext({
      viewport: SIZES[size],
      colorScheme: theme,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
      bypassCSP,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const visit = new Visit(house, context, page, forgive);
    await visit.#watch();
    if (as !== null) await visit.logIn(as);
    return visit;
  }

  async #watch(): Promise<void> {
    const { page, context } = this;
    page.on('console', (line) => {
      if (line.type() === 'error' || line.type() === 'warning') this.#note(`console: ${line.text()}`);
    });
    page.on('pageerror', (error) => this.#note(`page error: ${error.stack ?? error.message}`));
    page.on('dialog', (dialog) => {
      this.#note(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (request.url().endsWith('/ui/csp-report')) this.#note(`CSP report: ${request.postData() ?? ''}`);
    });
    await context.exposeBinding('noteViolation', (_source, text: string) => this.#note(`CSP: ${text}`));
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
        const { noteViolation } = globalThis as unknown as { noteViolation: (text: string) => void };
        noteViolation(`${violatedDirective} ${blockedURI} ${sample}`);
      });
    });
  }

  #note(text: string): void {
    if (!this.#forgive.some((pattern) => pattern.test(text))) this.troubles.push(`${this.page.url()}: ${text}`);
  }

  /** As a browser does that has been here before: by a cookie. */
  async logIn(role: 'admin' | 'operator' | 'read'): Promise<void> {
    const { house, context } = this;
    const token = role === 'admin' ? house.token : await house.tokenFor(role);
    const answer = await context.request.post(`${house.url}/ui/login`, {
      data: { token },
      headers: { 'x-leasehold-ui': '1' },
    });
    assert.equal(answer.status(), 200, await answer.text());
  }

  /** Opens a screen by its address, and waits until what it shows has come. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.house.url}/ui${path}`);
    await this.settled();
  }

  /** Nothing is on its way any more. */
  async settled(): Promise<void> {
    await this.page.locator('h1').first().waitFor();
    await this.page.waitForFunction(() => document.querySelector('[role="status"][aria-label="Loading"]') === null);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}
