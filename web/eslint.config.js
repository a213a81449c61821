import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

export default defineConfig(
  { ignores: ["node_modules", "src/api/schema.d.ts", "public"] },
  js.configs.recommended,
  ts.configs.strict,
  ts.configs.stylistic,
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [hooks.configs.flat["recommended-latest"]],
    rules: {
      "max-lines": ["error", 400],
      "react-hooks/set-state-in-effect": "off",
      "react-hooks/incompatible-library": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/consistent-type-definitions": "off",
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "what people write stays text",
        },
      ],
      "no-restricted-globals": [
        "error",
        { name: "fetch", message: "use the generated client (src/api/client.ts)" },
      ],
    },
  },
  { files: ["src/api/**"], rules: { "no-restricted-globals": "off" } },
  {
    files: ["src/**/*.{ts,tsx}"],
    ignores: ["src/api/change.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          name: "@tanstack/react-query",
          importNames: ["useMutation"],
          message: "use that of src/api/change.ts, which forgets no undo",
        },
      ],
    },
  },
);
