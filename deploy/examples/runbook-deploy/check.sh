# A page must have a title and an end.
for page in "$1"/*.html; do
	grep -q '<title>..*</title>' "$page" && grep -q '</html>' "$page" || { echo "$page is not whole"; exit 1; }
done
