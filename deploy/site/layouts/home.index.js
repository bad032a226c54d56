{{- /* Every section of the manual: where it is and what it says. */ -}}
{{- $sections := slice -}}
{{- range site.Pages -}}
  {{- $page := . -}}
  {{- range after 1 (split (replaceRE `<h[1-6] id="` "\x1f" .Content) "\x1f") -}}
    {{- $parts := findRESubmatch `(?s)^([^"]*)">(.*?)(?: <a class="anchor".*?)?</h[1-6]>(.*)` . 1 -}}
    {{- with index $parts 0 -}}
      {{- $text := index . 3 | replaceRE `</t[dh]>\s*<t` " · <t" | replaceRE `</(p|li|tr|pre)>` " " | plainify | htmlUnescape | replaceRE `\s+` " " -}}
      {{- $terms := slice }}{{ range findRESubmatch `<tr>\s*<td[^>]*>(.*?)</td>` (index . 3) }}{{ $terms = $terms | append (index . 1 | plainify | htmlUnescape) }}{{ end -}}
      {{- $sections = $sections | append (dict "page" (printf "%s.html" $page.Params.name) "title" $page.Title
        "anchor" (index . 1) "heading" (index . 2 | plainify | htmlUnescape) "terms" (delimit $terms " ") "text" (trim $text " ")) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
searchIn({{ $sections | jsonify }})
